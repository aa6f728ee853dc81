package httpfence_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
	"github.com/etcdfence/etcdfence/fence/httpfence"
	"github.com/etcdfence/etcdfence/integration/kit"
)

// The conformance kit on a resource behind a service: what a client of it may rely on.
func TestKit(t *testing.T) {
	t.Parallel()
	fencetest.Run(t, newFarSubject)
}

func TestLinearizable(t *testing.T) {
	t.Parallel()
	kit.Linearizable(t, newFarSubject)
}

func TestSequences(t *testing.T) {
	t.Parallel()
	kit.Sequences(t, newFarSubject)
}

// far is a resource in memory, the service in front of it, and a client.
type far struct {
	store   *fence.Memory
	server  *httptest.Server
	handler http.Handler
	losing  atomic.Bool
	base    []*http.Transport
	remote  *httpfence.Remote
}

func newFarSubject(ctx context.Context) (fencetest.Subject[*httpfence.Call], error) {
	s, err := newFar()
	if err != nil {
		return nil, err
	}
	return s, s.Reopen(ctx)
}

func newFar() (*far, error) {
	store, err := fence.NewMemory(lock)
	if err != nil {
		return nil, err
	}
	s := &far{store: store}
	mux := http.NewServeMux()
	mux.Handle("/value", httpfence.Handler(httpfence.Enforce(store), http.HandlerFunc(write), nil))
	mux.Handle("/fence", httpfence.Marks(store))
	mux.Handle("/any/value", httpfence.Handler(httpfence.Enforce(store.AnyOrder()), http.HandlerFunc(write), nil))
	mux.Handle("/any/fence", httpfence.Marks(store.AnyOrder()))
	s.handler = mux
	s.server = httptest.NewServer(s)
	return s, nil
}

// ServeHTTP loses the next answer of a success, if it is armed to.
func (s *far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.losing.Load() || r.Method == http.MethodGet {
		s.handler.ServeHTTP(w, r)
		return
	}
	answer := httptest.NewRecorder()
	s.handler.ServeHTTP(answer, r)
	if answer.Code < http.StatusBadRequest && s.losing.CompareAndSwap(true, false) {
		panic(http.ErrAbortHandler) // the connection breaks
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (s *far) open(base string) (*httpfence.Remote, error) {
	transport := &http.Transport{}
	s.base = append(s.base, transport)
	return httpfence.NewRemote(&http.Client{Transport: transport}, s.server.URL+base+"/fence", &httpfence.RemoteOptions{Lock: lock})
}

func (s *far) Resource() fence.FencedResource[*httpfence.Call] { return s.remote }
func (s *far) Lock() string                                    { return lock }
func (s *far) Lose(context.Context) error                      { s.losing.Store(true); return nil }

func (s *far) Reopen(context.Context) (err error) {
	s.remote, err = s.open("")
	return err
}

func (s *far) Share(context.Context) (fence.FencedResource[*httpfence.Call], error) {
	return s.open("")
}

func (s *far) AnyOrder(context.Context) (fence.FencedResource[*httpfence.Call], error) {
	r, err := s.open("/any")
	return anyOrder{r}, err
}

// anyOrder sends the kit's requests to where any order is taken.
type anyOrder struct{ *httpfence.Remote }

func (r anyOrder) Apply(ctx context.Context, s fence.Stamp, change func(context.Context, *httpfence.Call) error) error {
	return r.Remote.Apply(ctx, s, func(ctx context.Context, call *httpfence.Call) error {
		if err := change(ctx, call); err != nil || call.Request == nil {
			return err
		}
		call.Request.URL.Path = "/any" + call.Request.URL.Path
		return nil
	})
}

func (s *far) Write(ctx context.Context, call *httpfence.Call, value string) (err error) {
	call.Request, err = http.NewRequestWithContext(ctx, http.MethodPut, s.server.URL+"/value", strings.NewReader(value))
	return err
}

func (s *far) Read(ctx context.Context) (string, error) {
	v, _, err := s.store.Get(ctx, "value")
	return v, err
}

func (s *far) Close() error {
	for _, b := range s.base {
		b.CloseIdleConnections()
	}
	s.server.Close()
	return nil
}
