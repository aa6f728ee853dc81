package etcdfence_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// E11: the lease is found dead while another acquisition is making its key. That
// one had no place in the queue to lose: it goes on with a new lease.
func TestLeaseDiesDuringAcquisition(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	client, faults := faulty(t, server)
	a := adapter(t, client, nil)
	h := lock(t, a, "foo")
	made := faults.Add(with(createsUnder("bar/"), etcdtest.HoldRequest, 1))
	waiter := lockLater(t, ctx, a, "bar")
	made.WaitFired(t)
	server.Revoke(t, h.Lease())
	mustBe(t, ends(t, h, 10*time.Second), etcdfence.ErrLeaseGone)

	next, err := waiter.wait(t, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if next.Lease() == h.Lease() {
		t.Fatal("the dead lease was used again")
	}
	release(t, next)
}

// E11: etcd says that the lease is gone before the adapter knew.
func TestLeaseDeadBeforeAcquisition(t *testing.T) {
	server := start(t)
	a := adapter(t, server.NewClient(t), nil)
	first := lock(t, a, "foo")
	release(t, first)
	server.Revoke(t, first.Lease())
	second := lock(t, a, "foo")
	if second.Lease() == first.Lease() {
		t.Fatal("the dead lease was used again")
	}
	release(t, second)
}

// One lease serves all holds, also those that are acquired at the same time.
func TestOneLease(t *testing.T) {
	server := start(t)
	a := adapter(t, server.NewClient(t), nil)
	holds := make([]*etcdfence.Hold, 20)
	var wg sync.WaitGroup
	for i := range holds {
		wg.Go(func() { holds[i], _ = a.Lock(context.Background(), fmt.Sprint("lock", i)) })
	}
	wg.Wait()
	for _, h := range holds {
		if h == nil || h.Lease() != holds[0].Lease() {
			t.Fatal("more than one lease")
		}
	}
	if n := len(server.Leases(t)); n != 1 {
		t.Fatalf("%d leases", n)
	}
}

// Beyond the first few, keys are watched as a range. Each is still told apart: a
// deleted key ends its own hold and no other, and a new hold of a name that was
// deleted before is not ended by the old event.
func TestManyHoldsAreWatched(t *testing.T) {
	server := start(t)
	a := adapter(t, server.NewClient(t), &etcdfence.Options{TTL: 30 * time.Second})
	holds := make([]*etcdfence.Hold, 150)
	for i := range holds {
		holds[i] = lock(t, a, fmt.Sprintf("lock%03d", i))
	}
	for _, i := range []int{140, 7, 61, 62, 149, 100} {
		server.DeleteKey(t, holds[i].Key())
		mustBe(t, ends(t, holds[i], 10*time.Second), etcdfence.ErrLost, etcdfence.ErrKeyDeleted)
		mustBe(t, holds[i].Release(within(t, time.Second)), etcdfence.ErrNotHeld)
		holds[i] = lock(t, a, fmt.Sprintf("lock%03d", i))
	}
	for _, h := range holds {
		if err := h.Verify(within(t, 10*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	server.Revoke(t, holds[0].Lease())
	for _, h := range holds {
		mustBe(t, ends(t, h, 10*time.Second), etcdfence.ErrLost, etcdfence.ErrLeaseGone)
	}
}

// Close ends holds and waiters, gives everything back and joins what it started;
// the client stays the user's.
func TestClose(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	client := server.NewClient(t)
	a := adapter(t, client, nil)
	h := lock(t, a, "foo")
	local := lockLater(t, ctx, a, "foo")
	other := lock(t, adapter(t, server.NewClient(t), nil), "bar")
	remote := lockLater(t, ctx, a, "bar")
	server.WaitQueued(t, "bar/", 2)

	for range 2 {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	mustBe(t, h.Err(), etcdfence.ErrLost, etcdfence.ErrClosed)
	mustBe(t, context.Cause(h.Context()), etcdfence.ErrClosed)
	for _, w := range []*waiting{local, remote} {
		_, err := w.wait(t, 10*time.Second)
		mustBe(t, err, etcdfence.ErrClosed)
	}
	_, err := a.Lock(ctx, "foo")
	mustBe(t, err, etcdfence.ErrClosed)
	_, err = a.TryLock(ctx, "foo")
	mustBe(t, err, etcdfence.ErrClosed)
	mustBe(t, h.Release(ctx), etcdfence.ErrNotHeld)
	server.WaitEmpty(t, "foo/")
	if n := len(server.Queue(t, "bar/")); n != 1 {
		t.Fatalf("%d keys of bar", n)
	}
	if _, err := client.Get(ctx, "still mine"); err != nil {
		t.Fatal(err)
	}
	release(t, other)
	if err := adapter(t, client, nil).Close(); err != nil { // never used
		t.Fatal(err)
	}
}

// Close gives up on an etcd that does not answer, and says so.
func TestCloseWithoutEtcd(t *testing.T) {
	server := start(t)
	link := server.Link(t)
	a := adapter(t, link.NewClient(t), ttl2)
	lock(t, a, "foo")
	link.Cut()
	if err := a.Close(); err == nil {
		t.Fatal("a revocation that cannot have been answered succeeded")
	}
	link.Heal()
	release(t, lock(t, adapter(t, server.NewClient(t), nil), "foo"))
}

// A log line about a hold has the lock, the token and the cause as fields.
func TestLogFields(t *testing.T) {
	server := start(t)
	core, logs := observer.New(zap.DebugLevel)
	a := adapter(t, server.NewClient(t), &etcdfence.Options{Logger: zap.New(core)})
	h := lock(t, a, "foo")
	token := h.Token().String()
	server.DeleteKey(t, h.Key())
	mustBe(t, ends(t, h, 10*time.Second), etcdfence.ErrKeyDeleted)

	for _, test := range []struct {
		message string
		level   string
		fields  []string
	}{
		{"acquired", "debug", []string{"lock", "token", "owner"}},
		{"hold lost", "warn", []string{"lock", "token", "cause"}},
	} {
		lines := logs.FilterMessage(test.message).All()
		if len(lines) != 1 {
			t.Fatalf("%d lines %q in %v", len(lines), test.message, logs.All())
		}
		fields := lines[0].ContextMap()
		for _, f := range test.fields {
			if _, ok := fields[f]; !ok {
				t.Errorf("%q has no field %q: %v", test.message, f, fields)
			}
		}
		if fields["lock"] != "foo" || fields["token"] != token || lines[0].Level.String() != test.level {
			t.Errorf("%q at %v: %v", test.message, lines[0].Level, fields)
		}
	}
}
