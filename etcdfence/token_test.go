package etcdfence_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/fence"
)

// T1 (etcd contrib/lock, issue 11788, and everybody who uses the header): the
// token is the create revision of the key, also when unrelated writes move the
// header on while B waits.
func TestT1TokenIsTheCreateRevision(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	a, b := adapter(t, server.NewClient(t), nil), adapter(t, server.NewClient(t), nil)

	h := lock(t, a, "foo")
	waiter := lockLater(t, ctx, b, "foo")
	server.WaitQueued(t, "foo/", 2)
	for i := range 5 {
		server.Put(t, fmt.Sprint("unrelated", i), "")
	}
	waiter.still(t)
	release(t, h)
	hb, err := waiter.wait(t, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}

	resp, err := server.Client().Get(ctx, hb.Key())
	if err != nil || len(resp.Kvs) != 1 {
		t.Fatal(resp, err)
	}
	if got, want := hb.Token().Revision(), resp.Kvs[0].CreateRevision; got != want {
		t.Fatalf("token %d, create revision %d", got, want)
	}
	if hb.Token().Revision() == resp.Header.Revision {
		t.Fatal("the header's revision did not move on: the test proves nothing")
	}
}

// T1: no token can be had before Lock, after Release or from a failed Lock.
func TestT1NoTokenWithoutAHold(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	a := adapter(t, server.NewClient(t), nil)
	h := lock(t, a, "foo")

	other := adapter(t, server.NewClient(t), nil)
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	failed, err := other.Lock(short, "foo")
	mustBe(t, err, context.DeadlineExceeded)
	if failed != nil {
		t.Fatal("a failed Lock returned a hold")
	}

	release(t, h)
	if !h.Token().IsZero() || !h.Stamp().IsZero() {
		t.Fatalf("after Release: token %v, stamp", h.Token())
	}
	m := memory(t, "foo")
	mustBe(t, m.Apply(ctx, h.Stamp(), put("late")), fence.ErrNoToken)
	_, err = etcdfence.Bind(ctx, h, resource(m))
	mustBe(t, err, etcdfence.ErrNotHeld)
}

// TokenOf gives raw users the same token an adapter would, and nothing else.
func TestTokenOf(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	s, err := concurrency.NewSession(server.NewClient(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := concurrency.NewMutex(s, "foo")

	for _, no := range []*concurrency.Mutex{nil, m} {
		_, err = etcdfence.TokenOf(no, "foo")
		mustBe(t, err, etcdfence.ErrNotHeld)
	}
	if err := m.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	server.Put(t, "unrelated", "")
	raw, err := etcdfence.TokenOf(m, "foo")
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Get(ctx, m.Key())
	if err != nil || resp.Kvs[0].CreateRevision != raw.Revision() {
		t.Fatalf("%v, create revision %v, %v", raw, resp, err)
	}
	_, err = etcdfence.TokenOf(m, "")
	mustBe(t, err, fence.ErrBadToken)

	waiter := lockLater(t, ctx, adapter(t, server.NewClient(t), nil), "foo")
	server.WaitQueued(t, "foo/", 2)
	if err := m.Unlock(ctx); err != nil {
		t.Fatal(err)
	}
	_, err = etcdfence.TokenOf(m, "foo")
	mustBe(t, err, etcdfence.ErrNotHeld)
	h, err := waiter.wait(t, 10*time.Second)
	if err != nil || h.Token().Compare(raw) <= 0 {
		t.Fatalf("the next holder's %v is not newer than %v (%v)", h.Token(), raw, err)
	}
}

// T2 (found by probe): in one session a failed TryLock deletes and re-creates the
// key of a waiter, and both the waiter and a stranger behind it get the lock.
func TestT2NoFaultDoubleGrant(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	h := lock(t, adapter(t, server.NewClient(t), nil), "foo")
	a := adapter(t, server.NewClient(t), nil)
	x := adapter(t, server.NewClient(t), nil)

	first := lockLater(t, ctx, a, "foo")
	server.WaitQueued(t, "foo/", 2)
	stranger := lockLater(t, ctx, x, "foo")
	server.WaitQueued(t, "foo/", 3)
	_, err := a.TryLock(ctx, "foo")
	mustBe(t, err, etcdfence.ErrLocked)
	second := lockLater(t, ctx, a, "foo")

	last := h.Token()
	release(t, h)
	for _, next := range []*waiting{first, stranger, second} {
		got, err := next.wait(t, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if got.Token().Compare(last) <= 0 {
			t.Fatalf("%v after %v", got.Token(), last)
		}
		if err := got.Verify(ctx); err != nil {
			t.Fatalf("etcd's queue names another holder than %v: %v", got.Token(), err)
		}
		last = got.Token()
		release(t, got)
	}
}

// T10 (etcd 11360, cilium 6667): two goroutines of one adapter and three other
// clients; never two holds at once, tokens distinct and rising, nothing refused.
func TestT10SameProcessSameName(t *testing.T) {
	server := start(t)
	ctx := within(t, 2*time.Minute)
	m := memory(t, "counter")
	shared := adapter(t, server.NewClient(t), nil)

	var mu sync.Mutex
	var holding int
	var tokens []fence.Token
	worker := func(a *etcdfence.Adapter, rounds int) {
		for range rounds {
			err := etcdfence.Do(ctx, a, "counter", resource(m), func(ctx context.Context, w *bound) error {
				mu.Lock()
				holding++
				if holding != 1 {
					t.Errorf("%d holds at once", holding)
				}
				tokens = append(tokens, w.Hold().Token())
				mu.Unlock()
				defer func() { mu.Lock(); holding--; mu.Unlock() }()
				return w.Apply(ctx, increment)
			})
			if err != nil {
				t.Errorf("Do: %v", err)
				return
			}
		}
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { worker(shared, 200) })
	}
	for range 3 {
		a := adapter(t, server.NewClient(t), nil)
		wg.Go(func() { worker(a, 100) })
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	if got := value(t, m); got != "700" {
		t.Fatalf("the counter is %s after 700 increments", got)
	}
	for i := 1; i < len(tokens); i++ {
		if tokens[i].Compare(tokens[i-1]) <= 0 {
			t.Fatalf("grant %d: %v after %v", i, tokens[i], tokens[i-1])
		}
	}
}

func increment(_ context.Context, tx *fence.MemoryTx) error {
	old, _ := tx.Get("value")
	var n int
	_, _ = fmt.Sscan(old, &n)
	tx.Put("value", fmt.Sprint(n+1))
	return nil
}
