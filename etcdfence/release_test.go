package etcdfence_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// removesUnder matches the transaction that removes a lock's key.
func removesUnder(prefix string) etcdtest.Rule {
	return etcdtest.Rule{Op: etcdtest.OpTxn, Prefix: prefix, Match: func(c etcdtest.Call) bool {
		return len(c.Then) == 1 && c.Then[0].IsDelete()
	}}
}

// createsUnder matches the transaction by which the recipe makes a lock's key.
func createsUnder(prefix string) etcdtest.Rule {
	return etcdtest.Rule{Op: etcdtest.OpTxn, Prefix: prefix, Match: func(c etcdtest.Call) bool {
		return len(c.Then) > 0 && c.Then[0].IsPut()
	}}
}

func with(r etcdtest.Rule, do etcdtest.Fault, times int) etcdtest.Rule {
	r.Do, r.Times = do, times
	return r
}

// E4 (etcd 22082): the key's name is the same for every hold under one lease, so a
// removal by name would free a later hold. Here the later hold is a raw mutex on the
// adapter's lease, and the adapter cannot notice anything, since its watch is held
// back: only the guard on the create revision is left.
func TestE4LateReleaseTouchesNothing(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	client, faults := faulty(t, server)
	faults.Add(etcdtest.Rule{Op: etcdtest.OpWatch, Times: etcdtest.Always, Do: etcdtest.HoldRequest})
	h := lock(t, adapter(t, client, nil), "foo")

	server.DeleteKey(t, h.Key())
	s, err := concurrency.NewSession(server.NewClient(t), concurrency.WithLease(h.Lease()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Orphan()
	next := concurrency.NewMutex(s, "foo")
	if err := next.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	if next.Key() != h.Key() {
		t.Fatalf("the keys %q and %q differ: the test proves nothing", next.Key(), h.Key())
	}

	mustBe(t, h.Release(ctx), etcdfence.ErrNotHeld)
	if got := server.Queue(t, "foo/"); len(got) != 1 || got[0] != next.Key() {
		t.Fatalf("the late release left %q in the queue", got)
	}
}

// T5 (etcd 22082): the release is carried out and its reply lost. The same adapter
// acquires again, under the same key, and the first hold is released again.
func TestT5LostReleaseReply(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	client, faults := faulty(t, server)
	a := adapter(t, client, nil)
	first := lock(t, a, "foo")
	faults.Add(with(removesUnder("foo/"), etcdtest.LoseReply, 1))

	mustBe(t, first.Release(ctx), etcdfence.ErrUnknownOutcome, context.DeadlineExceeded)
	second := lock(t, a, "foo") // waits until the outcome is certain
	if second.Key() != first.Key() {
		t.Fatalf("the keys %q and %q differ: the test proves nothing", second.Key(), first.Key())
	}
	mustBe(t, first.Release(ctx), etcdfence.ErrNotHeld)
	if err := second.Verify(ctx); err != nil {
		t.Fatal(err)
	}
	release(t, second)
}

// T14 (cilium 9855): the link is down during the release and comes back. The lock is
// free for others although the lease lives on.
func TestT14FailedRelease(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	link := server.Link(t)
	a := adapter(t, link.NewClient(t), &etcdfence.Options{TTL: 30 * time.Second})
	h := lock(t, a, "foo")
	waiter := lockLater(t, ctx, adapter(t, server.NewClient(t), nil), "foo")
	server.WaitQueued(t, "foo/", 2)

	link.Cut()
	mustBe(t, h.Release(within(t, 200*time.Millisecond)), etcdfence.ErrUnknownOutcome)
	waiter.still(t)
	link.Heal()
	next, err := waiter.wait(t, 20*time.Second) // well under the TTL
	if err != nil {
		t.Fatal(err)
	}
	release(t, next)
	again := lock(t, a, "foo")
	if again.Lease() != h.Lease() {
		t.Fatal("the lease was given up: the test proves nothing")
	}
	release(t, again)
}

// E7: a key that cannot be removed holds the lock for one TTL and no longer, though
// the lease could be renewed for ever.
func TestKeyThatCannotBeRemoved(t *testing.T) {
	server := start(t)
	client, faults := faulty(t, server)
	a := adapter(t, client, ttl2)
	h := lock(t, a, "foo")
	other := lock(t, a, "other")
	faults.Add(with(removesUnder("foo/"), etcdtest.FailBefore, etcdtest.Always))

	mustBe(t, h.Release(within(t, 10*time.Second)), etcdfence.ErrUnknownOutcome)
	release(t, lock(t, adapter(t, server.NewClient(t), nil), "foo"))
	mustBe(t, ends(t, other, 10*time.Second), etcdfence.ErrLost) // the price: the lease was given up
	mustBe(t, h.Release(within(t, 10*time.Second)), etcdfence.ErrNotHeld)
}

// A release in the very moment of the loss is one of a lost hold: it asks nothing
// and leaves no doubt.
func TestReleaseInTheMomentOfLoss(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	client, faults := faulty(t, server)
	a := adapter(t, client, nil)
	var holds []*etcdfence.Hold
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		holds = append(holds, lock(t, a, name))
	}
	removals := faults.Add(with(removesUnder(""), etcdtest.Observe, etcdtest.Always))
	var wg sync.WaitGroup
	for _, h := range holds {
		wg.Go(func() {
			<-h.Done()
			err := h.Release(ctx)
			if !isAll(err, etcdfence.ErrNotHeld) || isAll(err, etcdfence.ErrUnknownOutcome) {
				t.Errorf("Release: %v", err)
			}
		})
	}
	server.Revoke(t, holds[0].Lease())
	wg.Wait()
	if n := removals.Hits(); n != 0 {
		t.Errorf("releasing lost holds sent %d requests", n)
	}
}

// Release twice, also at the same time, has one result; with a context that is
// done it still releases.
func TestReleaseTwice(t *testing.T) {
	server := start(t)
	a := adapter(t, server.NewClient(t), nil)
	h := lock(t, a, "foo")
	done, cancel := context.WithCancel(context.Background())
	cancel()
	results := make(chan error, 4)
	for range cap(results) {
		go func() { results <- h.Release(done) }()
	}
	for range cap(results) {
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
	mustBe(t, h.Err(), etcdfence.ErrNotHeld)
	mustBe(t, h.Verify(within(t, time.Second)), etcdfence.ErrNotHeld)
	server.WaitEmpty(t, "foo/")
}
