package httpfence_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/httpfence"
)

// put is a change that replaces the value of a service.
func put(url, body string, answer func(*http.Response)) func(context.Context, *httpfence.Call) error {
	return func(ctx context.Context, call *httpfence.Call) (err error) {
		call.Answer = answer
		call.Request, err = http.NewRequestWithContext(ctx, http.MethodPut, url, strings.NewReader(body))
		return err
	}
}

func remote(t *testing.T, url string, opts *httpfence.RemoteOptions) *httpfence.Remote {
	t.Helper()
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	r, err := httpfence.NewRemote(&http.Client{Transport: base}, url, opts)
	must(t, err)
	return r
}

// Two holders that read, compute and write over the wire lose no update: the claim that Bind
// makes closes the window before the read. And Bind sends again what got no answer, with the
// same stamp, so that nothing is counted twice.
func TestBindOverTheWire(t *testing.T) {
	s, err := newFar()
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server := etcdtest.Start(t)
	link := server.Link(t)
	paused := adapter(t, link.NewClient(t))
	old, err := paused.Lock(ctx, lock)
	must(t, err)
	oldBound, err := etcdfence.Bind(ctx, old, remote(t, s.server.URL+"/fence", nil))
	must(t, err)
	link.Cut()

	locks := adapter(t, server.NewClient(t))
	err = etcdfence.Do(ctx, locks, lock, remote(t, s.server.URL+"/fence", nil),
		func(ctx context.Context, w *etcdfence.Bound[*httpfence.Call]) error {
			s.losing.Store(true)
			if err := w.Apply(ctx, put(s.server.URL+"/value", "v2", func(*http.Response) { t.Error("the answer was lost") })); err != nil {
				return err
			}
			var answer string
			err := w.Apply(ctx, put(s.server.URL+"/value", "v3", func(resp *http.Response) {
				body, err := io.ReadAll(resp.Body)
				answer = string(body)
				must(t, err)
			}))
			if answer != "wrote v3" {
				t.Errorf("the answer is %q", answer)
			}
			return err
		})
	must(t, err)
	if got := value(t, s.store); got != "v3" {
		t.Fatalf("the service has %q", got)
	}
	link.Heal()
	err = oldBound.Apply(ctx, put(s.server.URL+"/value", "v1", nil))
	if !errors.Is(err, fence.ErrStale) || value(t, s.store) != "v3" {
		t.Fatalf("the paused holder's late write: %v; the service has %q", err, value(t, s.store))
	}
	mark, err := remote(t, s.server.URL+"/fence", nil).Mark(ctx, lock)
	if err != nil || mark.Sequence() != 2 || mark.Token().Revision() <= old.Token().Revision() {
		t.Fatalf("the mark is %v, %v", mark, err)
	}
}

// With an operation id net/http sends a request again by itself. Its second answer says
// "replayed" of a request that was applied: not an answer that a first sending can have.
func TestNetHTTPSendsTwice(t *testing.T) {
	s, err := newFar()
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	r := remote(t, s.server.URL+"/fence", nil)
	must(t, r.Apply(t.Context(), stamp(t, 4, 1), put(s.server.URL+"/value", "before", nil))) // the connection was used before
	s.losing.Store(true)
	ctx := fence.WithOperation(t.Context(), "pay 17")
	err = r.Apply(ctx, stamp(t, 5, 1), put(s.server.URL+"/value", "once", nil))
	if !errors.Is(err, fence.ErrUnknownOutcome) || !fence.SafeToRetry(err) || value(t, s.store) != "once" {
		t.Fatalf("got %v; the service has %q", err, value(t, s.store))
	}
	if err = r.Apply(ctx, stamp(t, 5, 1), put(s.server.URL+"/value", "twice", nil)); !errors.Is(err, fence.ErrReplayed) {
		t.Fatalf("the same stamp again: %v", err)
	}
	answer := ""
	must(t, r.Apply(ctx, stamp(t, 5, 2), put(s.server.URL+"/value", "twice", func(resp *http.Response) {
		body, err := io.ReadAll(resp.Body)
		answer = resp.Header.Get("Idempotency-Replayed") + string(body)
		must(t, err)
	})))
	if answer != "?1wrote once" || value(t, s.store) != "once" {
		t.Fatalf("the recorded answer is %q; the service has %q", answer, value(t, s.store))
	}
}

// What a gateway says is not what became of the write; what the handler says is.
func TestStatusOfOthers(t *testing.T) {
	var status atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(int(status.Load()))
		if r.Method != http.MethodHead && status.Load() >= 400 {
			_, _ = io.WriteString(w, "first line\nsecond")
		}
	}))
	t.Cleanup(server.Close)
	r := remote(t, server.URL, nil)
	for code, unknown := range map[int]bool{400: false, 401: false, 404: false, 409: false, 412: false, 500: false,
		301: true, 302: true, 303: true, 304: true, 502: true, 503: true, 504: true} {
		status.Store(int64(code))
		for what, err := range map[string]error{
			"write": r.Apply(t.Context(), stamp(t, 5, 1), put(server.URL, "x", func(*http.Response) { t.Errorf("%d is an answer", code) })),
			"claim": r.Claim(t.Context(), stamp(t, 5, 0).Token()),
		} {
			var se *httpfence.StatusError
			if !errors.As(err, &se) || se.Status != code || errors.Is(err, fence.ErrUnknownOutcome) != unknown ||
				errors.Is(err, fence.ErrStale) || strings.Contains(err.Error(), "second") {
				t.Errorf("%s: %d: %v", what, code, err)
			}
		}
		var se *httpfence.StatusError
		if _, err := r.Mark(t.Context(), lock); !errors.As(err, &se) && code >= 400 {
			t.Errorf("mark: %d: %v", code, err)
		}
	}
	status.Store(200)
	must(t, r.Apply(t.Context(), stamp(t, 5, 1), put(server.URL, "x", nil)))
}

// A redirect that keeps the method keeps the stamp on the same host, and loses it on another.
func TestRemoteRedirects(t *testing.T) {
	store := newStore(t)
	service := httptest.NewServer(httpfence.Handler(httpfence.Enforce(store), http.HandlerFunc(write), nil))
	t.Cleanup(service.Close)
	var to atomic.Value
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			service.Config.Handler.ServeHTTP(w, r)
			return
		}
		http.Redirect(w, r, to.Load().(string), http.StatusTemporaryRedirect)
	}))
	t.Cleanup(front.Close)
	r := remote(t, front.URL, nil)
	to.Store("/moved")
	must(t, r.Apply(t.Context(), stamp(t, 5, 1), put(front.URL, "moved", nil)))
	to.Store(service.URL)
	err := r.Apply(t.Context(), stamp(t, 5, 2), put(front.URL, "abroad", nil))
	if !errors.Is(err, fence.ErrNoToken) || value(t, store) != "moved" {
		t.Fatalf("%v; the service has %q", err, value(t, store))
	}
}

// A service that does not answer costs the timeout, and one that answers without end the limit.
func TestRemoteBounds(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			_, _ = io.WriteString(w, strings.Repeat("x", 100))
			return
		}
		_, _ = io.ReadAll(r.Body) // or the server does not see that the client has gone
		<-r.Context().Done()
		ended <- struct{}{}
	}))
	t.Cleanup(server.Close)
	r := remote(t, server.URL, &httpfence.RemoteOptions{Timeout: 50 * time.Millisecond, MaxAnswer: 99})
	if err := r.Apply(t.Context(), stamp(t, 5, 1), put(server.URL, "x", nil)); !errors.Is(err, fence.ErrUnknownOutcome) {
		t.Errorf("a write without an answer: %v", err)
	}
	<-ended
	if err := r.Claim(t.Context(), stamp(t, 5, 0).Token()); !errors.Is(err, fence.ErrUnknownOutcome) {
		t.Errorf("a claim without an answer: %v", err)
	}
	<-ended
	if _, err := r.Mark(t.Context(), lock); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fence.ErrUnknownOutcome) {
		t.Errorf("a mark without an answer: %v", err)
	}
	<-ended
	must(t, r.Apply(t.Context(), stamp(t, 5, 2), put(server.URL+"/long", "x", func(resp *http.Response) {
		if body, err := io.ReadAll(resp.Body); err == nil || len(body) != 99 {
			t.Errorf("%d bytes, %v", len(body), err)
		}
	})))
}

func TestRemoteArguments(t *testing.T) {
	for _, bad := range []string{"", "example.com", "/fence", "ftp://example.com", "http://", "http://a b"} {
		if _, err := httpfence.NewRemote(http.DefaultClient, bad, nil); err == nil {
			t.Errorf("%q is an address", bad)
		}
	}
	if _, err := httpfence.NewRemote(nil, "http://example.com", nil); err == nil {
		t.Error("no client is one")
	}
	for _, opts := range []httpfence.RemoteOptions{{Timeout: -1}, {MaxAnswer: -1}, {Lock: "\n"}} {
		if _, err := httpfence.NewRemote(http.DefaultClient, "http://example.com", &opts); err == nil {
			t.Errorf("%+v are options", opts)
		}
	}
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	r := remote(t, server.URL, &httpfence.RemoteOptions{Lock: "another"})
	if err := r.Claim(t.Context(), stamp(t, 5, 0).Token()); !errors.Is(err, fence.ErrWrongLock) {
		t.Error(err)
	}
	r = remote(t, server.URL, nil)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for what, change := range map[string]func(context.Context, *httpfence.Call) error{
		"no request": func(context.Context, *httpfence.Call) error { return nil },
		"a read": func(ctx context.Context, call *httpfence.Call) (err error) {
			call.Request, err = http.NewRequestWithContext(ctx, "", server.URL, nil)
			return err
		},
		"no host": func(ctx context.Context, call *httpfence.Call) (err error) {
			call.Request, err = http.NewRequestWithContext(ctx, "PUT", "/path", nil)
			return err
		},
		"a context that ended": func(_ context.Context, call *httpfence.Call) (err error) {
			call.Request, err = http.NewRequestWithContext(done, "PUT", server.URL, nil)
			return err
		},
	} {
		if err := r.Apply(t.Context(), stamp(t, 5, 1), change); err == nil || fence.SafeToRetry(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := r.Apply(fence.WithOperation(t.Context(), ""), stamp(t, 5, 1), put(server.URL, "x", nil)); !errors.Is(err, fence.ErrBadOperation) {
		t.Error(err)
	}
	if _, err := r.Mark(t.Context(), ""); !errors.Is(err, fence.ErrBadToken) {
		t.Error(err)
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests", requests.Load())
	}
}

// What the marks are asked wrongly changes nothing, and is told so.
func TestMarksBadRequests(t *testing.T) {
	store := newStore(t)
	server := httptest.NewServer(httpfence.Marks(store))
	t.Cleanup(server.Close)
	text := func(s fence.Stamp) string {
		v, err := httpfence.Value(s)
		must(t, err)
		return v
	}
	for _, c := range []struct {
		method, query string
		stamps        []string
		want          int
	}{
		{"POST", "", []string{text(stamp(t, 5, 0))}, 405},
		{"PUT", "", nil, 428},
		{"PUT", "", []string{"x"}, 400},
		{"PUT", "", []string{text(stamp(t, 5, 1))}, 400}, // a write's stamp is no claim
		{"PUT", "", []string{text(stamp(t, 5, 0)), text(stamp(t, 6, 0))}, 400},
		{"GET", "", nil, 400},
		{"GET", "?lock=other", nil, 409},
		{"GET", "?lock=orders%2F42", nil, 204},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.query, nil)
		must(t, err)
		req.Header[httpfence.StampHeader] = c.stamps
		resp, err := server.Client().Do(req)
		must(t, err)
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s %s with %q: %d, want %d", c.method, c.query, c.stamps, resp.StatusCode, c.want)
		}
	}
	if mark, err := store.Mark(t.Context(), lock); err != nil || !mark.IsZero() {
		t.Errorf("the mark is %v, %v", mark, err)
	}
}
