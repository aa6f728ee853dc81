package etcdfence_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
)

type (
	bound    = etcdfence.Bound[*fence.MemoryTx]
	change   = func(context.Context, *fence.MemoryTx) error
	resource = fence.FencedResource[*fence.MemoryTx]
)

// adapter makes an adapter that is closed with the test.
func adapter(t testing.TB, c *clientv3.Client, opts *etcdfence.Options) *etcdfence.Adapter {
	t.Helper()
	a, err := etcdfence.New(c, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// ttl2 is the shortest TTL that etcd grants with default settings.
var ttl2 = &etcdfence.Options{TTL: 2 * time.Second}

func lock(t testing.TB, a *etcdfence.Adapter, name string) *etcdfence.Hold {
	t.Helper()
	h, err := a.Lock(within(t, 20*time.Second), name)
	if err != nil {
		t.Fatalf("Lock(%q): %v", name, err)
	}
	return h
}

func release(t testing.TB, h *etcdfence.Hold) {
	t.Helper()
	if err := h.Release(within(t, 10*time.Second)); err != nil {
		t.Fatalf("Release(%v): %v", h.Token(), err)
	}
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func memory(t testing.TB, lock string) *fence.Memory {
	t.Helper()
	m, err := fence.NewMemory(lock)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func put(value string) change {
	return func(_ context.Context, tx *fence.MemoryTx) error {
		tx.Put("value", value)
		return nil
	}
}

func value(t testing.TB, m *fence.Memory) string {
	t.Helper()
	v, _, err := m.Get(context.Background(), "value")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func bind(t testing.TB, h *etcdfence.Hold, r resource) *bound {
	t.Helper()
	w, err := etcdfence.Bind(within(t, 10*time.Second), h, r)
	if err != nil {
		t.Fatalf("Bind(%v): %v", h.Token(), err)
	}
	return w
}

func mustBe(t testing.TB, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Fatalf("error %v (%T), want one that is %v", err, err, w)
		}
	}
}

// ends waits for the hold to end and returns why. The patience is that of the
// guarantee under test, with room for a slow machine.
func ends(t testing.TB, h *etcdfence.Hold, patience time.Duration) error {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-h.Done():
		return h.Err()
	case <-timer.C:
		t.Fatalf("%v has not ended after %v", h.Token(), patience)
		return nil
	}
}

// waiting runs Lock in the background.
type waiting struct {
	done chan struct{}
	hold *etcdfence.Hold
	err  error
	took time.Duration
}

func lockLater(t testing.TB, ctx context.Context, a *etcdfence.Adapter, name string) *waiting {
	w := &waiting{done: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(w.done)
		start := time.Now()
		w.hold, w.err = a.Lock(ctx, name)
		w.took = time.Since(start)
	})
	t.Cleanup(wg.Wait)
	return w
}

func (w *waiting) wait(t testing.TB, patience time.Duration) (*etcdfence.Hold, error) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-w.done:
		return w.hold, w.err
	case <-timer.C:
		t.Fatalf("Lock has not returned after %v", patience)
		return nil, nil
	}
}

func (w *waiting) still(t testing.TB) {
	t.Helper()
	select {
	case <-w.done:
		t.Fatalf("Lock has returned: %v, %v", w.hold, w.err)
	default:
	}
}

func start(t testing.TB) *etcdtest.Server { return etcdtest.Start(t) }

// as is errors.As that must succeed.
func as[E error](t testing.TB, err error) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T) is no %T", err, err, e)
	}
	return e
}

// isAll reports whether err is every one of want.
func isAll(err error, want ...error) bool {
	for _, w := range want {
		if !errors.Is(err, w) {
			return false
		}
	}
	return true
}

// faulty returns a client of the server with fronts that let chosen calls fail.
func faulty(t testing.TB, s *etcdtest.Server) (*clientv3.Client, *etcdtest.Faults) {
	t.Helper()
	client, faults := s.NewClient(t), etcdtest.NewFaults(t)
	faults.Install(client)
	return client, faults
}
