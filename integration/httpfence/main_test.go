// Package httpfence_test sends stamps over real sockets to servers that enforce them.
package httpfence_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/httpfence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lock = "orders/42"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func stamp(t *testing.T, revision, sequence int64) fence.Stamp {
	t.Helper()
	token, err := fence.NewToken(lock, 0, revision, "holder")
	must(t, err)
	return token.At(sequence)
}

// peer is a client and the address that it writes to.
type peer struct {
	client *http.Client
	url    string
}

func serve(t *testing.T, guard httpfence.Guard, h http.HandlerFunc, opts *httpfence.Options) *peer {
	t.Helper()
	server := httptest.NewServer(httpfence.Handler(guard, h, opts))
	t.Cleanup(server.Close)
	return dial(t, server.URL)
}

func dial(t *testing.T, url string) *peer {
	t.Helper()
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	return &peer{&http.Client{Transport: &httpfence.Transport{Base: base}}, url}
}

type reply struct {
	status int
	header http.Header
	body   string
}

func (p *peer) send(ctx context.Context, method, body string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.url, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	resp, err := httpfence.Do(p.client, req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(text)}, err
}

func (p *peer) put(ctx context.Context, body string) (reply, error) {
	return p.send(ctx, http.MethodPut, body)
}

func newStore(t *testing.T) *fence.Memory {
	t.Helper()
	m, err := fence.NewMemory(lock)
	must(t, err)
	return m
}

func value(t *testing.T, m *fence.Memory) string {
	t.Helper()
	v, _, err := m.Get(t.Context(), "value")
	must(t, err)
	return v
}

// write is a handler that stores the request's body.
func write(w http.ResponseWriter, r *http.Request) {
	tx, err := httpfence.Tx[*fence.MemoryTx](r.Context())
	body, rerr := io.ReadAll(r.Body)
	if err := errors.Join(err, rerr); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	tx.Put("value", string(body))
	w.Header().Set("Etag", `"1"`)
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, "wrote "+string(body))
}

func serveRaw(t *testing.T, h http.HandlerFunc) *peer {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return dial(t, server.URL)
}
