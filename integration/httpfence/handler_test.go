package httpfence_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/httpfence"
)

// What a server answers when there is nothing to compare; and reads pass.
func TestRequestsWithoutAGoodStamp(t *testing.T) {
	m := newStore(t)
	service := serve(t, httpfence.Enforce(m), func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, "read")
			return
		}
		write(w, r)
	}, nil)
	good, err := httpfence.Value(stamp(t, 5, 1))
	must(t, err)
	for name, c := range map[string]struct {
		header http.Header
		status int
		want   error
	}{
		"no stamp":      {http.Header{}, 428, fence.ErrNoToken},
		"malformed":     {http.Header{"Fence-Stamp": {"5"}}, 400, fence.ErrBadToken},
		"two":           {http.Header{"Fence-Stamp": {good, good}}, 400, fence.ErrBadToken},
		"bad key":       {http.Header{"Fence-Stamp": {good}, "Idempotency-Key": {"a"}}, 400, fence.ErrBadOperation},
		"empty key":     {http.Header{"Fence-Stamp": {good}, "Idempotency-Key": {`""`}}, 400, fence.ErrBadOperation},
		"another lock":  {http.Header{"Fence-Stamp": {strings.ReplaceAll(good, "42", "43")}}, 409, fence.ErrWrongLock},
		"two keys":      {http.Header{"Fence-Stamp": {good}, "Idempotency-Key": {`"a"`, `"b"`}}, 400, fence.ErrBadOperation},
		"not in quotes": {http.Header{"Fence-Stamp": {strings.Trim(good, `"`)}}, 400, fence.ErrBadToken},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, service.url, strings.NewReader("x"))
		must(t, err)
		req.Header = c.header
		resp, err := service.client.Do(req)
		must(t, err)
		if got := httpfence.Error(resp); !errors.Is(got, c.want) || resp.StatusCode != c.status {
			t.Errorf("%s: %v, %v", name, resp.Status, got)
		}
		must(t, resp.Body.Close())
	}
	if got := value(t, m); got != "" {
		t.Errorf("the store has %q", got)
	}
	if got, err := service.send(t.Context(), http.MethodGet, ""); err != nil || got.body != "read" {
		t.Errorf("a read: %v, %v", got, err)
	}
	if _, err := service.put(fence.WithOperation(fence.WithStamp(t.Context(), stamp(t, 5, 1)), "\n"), "x"); !errors.Is(err, fence.ErrBadOperation) || fence.SafeToRetry(err) {
		t.Errorf("a bad id: %v", err)
	}
	other := serve(t, httpfence.HandOver("another"), write, nil)
	if _, err := other.put(fence.WithStamp(t.Context(), stamp(t, 5, 1)), "x"); !errors.Is(err, fence.ErrWrongLock) {
		t.Error(err)
	}
	all := serve(t, httpfence.HandOver(""), write, &httpfence.Options{Guarded: func(*http.Request) bool { return true }})
	if got, err := all.put(fence.WithStamp(t.Context(), stamp(t, 5, 1)), "x"); err != nil || got.status != 500 {
		t.Errorf("a handler found a transaction that is not there: %v, %v", got, err)
	}
	if got, err := all.send(t.Context(), http.MethodGet, ""); !errors.Is(err, fence.ErrNoToken) {
		t.Errorf("a read that is guarded: %v, %v", got, err)
	}
}

// An answer of 400 and more, a panic, an answer that is too long, a body that is too long:
// data and mark stay, and the client hears what the handler said.
func TestHandlerFails(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		status  int // 0: the connection breaks
	}{
		"answers 404": {func(w http.ResponseWriter, r *http.Request) {
			tx, _ := httpfence.Tx[*fence.MemoryTx](r.Context())
			tx.Put("value", "x")
			http.Error(w, "no such account", http.StatusNotFound)
		}, 404},
		"panics": {func(_ http.ResponseWriter, r *http.Request) {
			tx, _ := httpfence.Tx[*fence.MemoryTx](r.Context())
			tx.Put("value", "x")
			panic(http.ErrAbortHandler)
		}, 0},
		"answers too much": {func(w http.ResponseWriter, r *http.Request) {
			write(w, r)
			_, _ = w.Write(make([]byte, 1000))
		}, 500},
		"cannot flush": {func(w http.ResponseWriter, r *http.Request) {
			write(w, r)
			if err := http.NewResponseController(w).Flush(); !errors.Is(err, http.ErrNotSupported) {
				panic(err)
			}
			panic(http.ErrAbortHandler)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := newStore(t)
			service := serve(t, httpfence.Enforce(m), c.handler, &httpfence.Options{MaxBody: 100, MaxAnswer: 500})
			got, err := service.put(fence.WithStamp(t.Context(), stamp(t, 5, 1)), "x")
			if c.status == 0 && !errors.Is(err, fence.ErrUnknownOutcome) || c.status != 0 && (err != nil || got.status != c.status) {
				t.Errorf("%v, %v", got, err)
			}
			mark, merr := m.Mark(t.Context(), lock)
			if merr != nil || !mark.IsZero() || value(t, m) != "" {
				t.Errorf("the mark is %v and the value %q", mark, value(t, m))
			}
		})
	}
	m := newStore(t)
	service := serve(t, httpfence.Enforce(m), write, &httpfence.Options{MaxBody: 10})
	if got, err := service.put(fence.WithStamp(t.Context(), stamp(t, 5, 1)), "longer than ten"); err != nil || got.status != 413 {
		t.Errorf("%v, %v", got, err)
	}
}

// twice runs each change two times, as a store does that has to start anew.
type twice struct{ *fence.Memory }

func (r twice) Apply(ctx context.Context, s fence.Stamp, change func(context.Context, *fence.MemoryTx) error) error {
	_ = r.Memory.Apply(ctx, s, func(ctx context.Context, tx *fence.MemoryTx) error {
		return errors.Join(change(ctx, tx), errors.New("once more"))
	})
	return r.Memory.Apply(ctx, s, change)
}

// A handler that runs again has the same request, and only its last answer is sent.
func TestHandlerRunsAgain(t *testing.T) {
	m := newStore(t)
	runs := 0
	service := serve(t, httpfence.Enforce(twice{m}), func(w http.ResponseWriter, r *http.Request) {
		runs++
		w.Header().Add("X-Run", fmt.Sprint(runs))
		write(w, r)
	}, nil)
	got, err := service.put(fence.WithStamp(t.Context(), stamp(t, 5, 1)), "x")
	if err != nil || got.status != 201 || got.body != "wrote x" || runs != 2 || strings.Join(got.header.Values("X-Run"), " ") != "2" || value(t, m) != "x" {
		t.Fatalf("%+v, %v, %d runs; the store has %q", got, err, runs, value(t, m))
	}
}

// A repeat with the same key is answered with what was answered then, by a later hold too,
// and the fence comes first.
func TestDuplicateGetsTheRecordedAnswer(t *testing.T) {
	m := newStore(t)
	service := serve(t, httpfence.Enforce(m), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "session=secret")
		write(w, r)
	}, nil)
	pay := func(revision, sequence int64, body string) (reply, error) {
		return service.put(fence.WithOperation(fence.WithStamp(t.Context(), stamp(t, revision, sequence)), "größe 17"), body)
	}
	for i, body := range []string{"first", "again"} {
		got, err := pay(5, int64(i+1), body)
		if err != nil || got.status != 201 || got.body != "wrote first" || got.header.Get("Etag") != `"1"` || (got.header.Get("Idempotency-Replayed") == "?1") != (i > 0) {
			t.Fatalf("%+v, %v", got, err)
		}
		if (got.header.Get("Set-Cookie") == "") != (i > 0) {
			t.Error("the cookies are not only for whoever asked first")
		}
	}
	if got, err := pay(7, 1, "by another"); err != nil || got.body != "wrote first" || value(t, m) != "first" {
		t.Fatalf("%+v, %v; the store has %q", got, err, value(t, m))
	}
	if _, err := service.put(fence.WithStamp(t.Context(), stamp(t, 7, 2)), "newer"); err != nil {
		t.Fatal(err)
	}
	if _, err := pay(5, 9, "late"); !errors.Is(err, fence.ErrStale) {
		t.Fatalf("a known id lets an old stamp pass: %v", err)
	}
	// An answer that somebody else has recorded stays an error with that answer in it.
	op := fence.WithOperation(t.Context(), "raw")
	must(t, m.Apply(op, stamp(t, 7, 3), func(context.Context, *fence.MemoryTx) error {
		fence.OperationFrom(op).SetResult([]byte("\xff"))
		return nil
	}))
	_, err := service.put(fence.WithOperation(fence.WithStamp(t.Context(), stamp(t, 7, 4)), "raw"), "x")
	var done *fence.DuplicateError
	if !errors.As(err, &done) || string(done.Result) != "\xff" {
		t.Fatal(err)
	}
}

// A redirect takes the stamp along only to the same host, with the same method; nothing makes
// a new one.
func TestRedirects(t *testing.T) {
	type seen struct{ method, stamp, key string }
	var got []seen
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, seen{r.Method, r.Header.Get("Fence-Stamp"), r.Header.Get("Idempotency-Key")})
	}))
	t.Cleanup(target.Close)
	var status int
	var location string
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, seen{r.Method, r.Header.Get("Fence-Stamp"), r.Header.Get("Idempotency-Key")})
		if r.URL.Path == "/" {
			http.Redirect(w, r, location, status)
		}
	}))
	t.Cleanup(from.Close)
	p := dial(t, from.URL)
	want, err := httpfence.Value(stamp(t, 5, 1))
	must(t, err)
	for _, c := range []struct {
		status   int
		location string
		keeps    bool
	}{
		{http.StatusTemporaryRedirect, "/there", true},
		{http.StatusPermanentRedirect, "/there", true},
		{http.StatusSeeOther, "/there", false},
		{http.StatusTemporaryRedirect, target.URL, false},
	} {
		status, location, got = c.status, c.location, nil
		ctx := fence.WithOperation(fence.WithStamp(t.Context(), stamp(t, 5, 1)), "pay")
		_, err := p.put(ctx, "x")
		must(t, err)
		if len(got) != 2 || got[0] != (seen{"PUT", want, `"pay"`}) {
			t.Fatalf("%+v", got)
		}
		if c.keeps && got[1] != got[0] || !c.keeps && (got[1].stamp != "" || got[1].key != "") {
			t.Errorf("%d to %s: %+v", c.status, c.location, got[1])
		}
	}
}

// The caller's request stays as it is, a stamp that it has already gives way, and a request
// that only reads has none.
func TestTransport(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	t.Cleanup(server.Close)
	p := dial(t, server.URL)
	req, err := http.NewRequestWithContext(fence.WithStamp(t.Context(), stamp(t, 5, 1)), http.MethodPost, server.URL, http.NoBody)
	must(t, err)
	req.Header.Set("Fence-Stamp", "mine")
	resp, err := p.client.Do(req)
	must(t, err)
	must(t, resp.Body.Close())
	if s, err := httpfence.Parse(got.Get("Fence-Stamp")); err != nil || s != stamp(t, 5, 1) || len(got.Values("Fence-Stamp")) != 1 {
		t.Errorf("sent: %v, %v", got, err)
	}
	if req.Header.Get("Fence-Stamp") != "mine" || req.Header.Get("Idempotency-Key") != "" {
		t.Errorf("the caller's request was changed: %v", req.Header)
	}
	if _, err := p.send(fence.WithStamp(t.Context(), stamp(t, 5, 1)), http.MethodGet, ""); err != nil || got.Get("Fence-Stamp") != "" {
		t.Errorf("a read: %v, %v", got, err)
	}
	if _, err := p.put(t.Context(), ""); err != nil || got.Get("Fence-Stamp") != "" {
		t.Errorf("without a stamp: %v, %v", got, err)
	}
}
