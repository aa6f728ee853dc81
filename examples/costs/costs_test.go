// Package costs counts the requests and takes the times that docs/limits.md speaks of.
package costs

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }

func TestRequests(t *testing.T) {
	server := etcdtest.Start(t)
	a, ofA := counted(t, server)
	b, ofB := counted(t, server)

	h := lock(t, a)
	want(t, "the first acquisition", ofA, "LeaseGrant 1, Txn 1")
	release(t, h)
	want(t, "a release", ofA, "Txn 1")

	h = lock(t, a)
	want(t, "an acquisition of a free lock", ofA, "Txn 1")
	if err := h.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "Verify", ofA, "Range 1")
	reach(t, ofA, 2, "Watch", "Txn")
	want(t, "outliving the grace", ofA, "Txn 1, Watch 1")

	if _, err := b.TryLock(t.Context(), "job"); !errors.Is(err, etcdfence.ErrLocked) {
		t.Fatal(err)
	}
	want(t, "a first TryLock in vain", ofB, "LeaseGrant 1, Txn 2")
	var waiting sync.WaitGroup
	var next *etcdfence.Hold
	waiting.Go(func() { next = lock(t, b) })
	reach(t, ofB, 2, "Range")
	want(t, "queueing", ofB, "Range 2, Txn 1, Watch 1")
	release(t, h)
	waiting.Wait()
	want(t, "being next", ofB, "Range 2")
	release(t, next)
}

func counted(t *testing.T, server *etcdtest.Server) (*etcdfence.Adapter, *etcdtest.Counter) {
	t.Helper()
	var rpcs etcdtest.Counter
	// A TTL so long that no renewal falls into what is counted.
	a, err := etcdfence.New(server.NewClient(t, rpcs.Option()), &etcdfence.Options{TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a, &rpcs
}

func lock(t testing.TB, a *etcdfence.Adapter) *etcdfence.Hold {
	h, err := a.Lock(context.Background(), "job")
	if err != nil {
		t.Error(err)
	}
	return h
}

func release(t testing.TB, h *etcdfence.Hold) {
	t.Helper()
	if err := h.Release(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, what string, rpcs *etcdtest.Counter, requests string) {
	t.Helper()
	if got := rpcs.String(); got != requests {
		t.Errorf("%s sends %s; docs/limits.md says %s", what, got, requests)
	}
	rpcs.Reset()
}

// reach waits until so many requests were sent, of which the counter knows no event.
func reach(t *testing.T, rpcs *etcdtest.Counter, n int, methods ...string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	patience := time.After(20 * time.Second)
	for rpcs.Count(methods...) < n {
		select {
		case <-tick.C:
		case <-patience:
			t.Fatalf("still only %s", rpcs)
		}
	}
}
