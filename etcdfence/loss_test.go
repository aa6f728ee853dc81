package etcdfence_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
)

// T3 (etcd 11457, 10811): A's link goes silent without closing, the lease runs
// out, B takes over and claims; the link heals, A writes and releases.
func TestT3FrozenHolder(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	m := memory(t, "foo")
	link := server.Link(t)
	a := adapter(t, link.NewClient(t), ttl2)
	b := adapter(t, server.NewClient(t), nil)

	ha := lock(t, a, "foo")
	wa := bind(t, ha, m)
	if err := wa.Apply(ctx, put("A")); err != nil {
		t.Fatal(err)
	}
	waiter := lockLater(t, ctx, b, "foo")
	server.WaitQueued(t, "foo/", 2)
	link.Cut()

	// E9: A's hold ends by itself, and before etcd grants the next one.
	mustBe(t, ends(t, ha, 20*time.Second), etcdfence.ErrLost, etcdfence.ErrDeadline)
	waiter.still(t)
	mustBe(t, context.Cause(ha.Context()), etcdfence.ErrLost)

	hb, err := waiter.wait(t, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	wb := bind(t, hb, m)
	if err := wb.Apply(ctx, put("B")); err != nil {
		t.Fatal(err)
	}
	before, _ := m.Mark(ctx, "foo")
	link.Heal()

	err = wa.Apply(ctx, put("late A"))
	mustBe(t, err, fence.ErrStale)
	refused := as[*fence.RefusedError](t, err)
	if refused.Mark != before || refused.Presented.Token() != ha.Token() {
		t.Fatalf("the refusal names %v and %v", refused.Presented, refused.Mark)
	}
	mustBe(t, ha.Release(ctx), etcdfence.ErrNotHeld)
	if got := value(t, m); got != "B" {
		t.Fatalf("the value is %q", got)
	}
	if after, _ := m.Mark(ctx, "foo"); after != before {
		t.Fatalf("the mark went from %v to %v", before, after)
	}
	if err := hb.Verify(ctx); err != nil {
		t.Fatal(err)
	}
}

// T8 (etcd 11777, 5571): the key is deleted, or the lease revoked, under a live
// hold. The hold ends within a second; nothing of B's is touched.
func TestT8KeyRemovedUnderALiveLease(t *testing.T) {
	for _, test := range []struct {
		name   string
		ttl    time.Duration
		remove func(*etcdtest.Server, *etcdfence.Hold)
		cause  error
	}{
		{"key deleted", 10 * time.Second, func(s *etcdtest.Server, h *etcdfence.Hold) { s.DeleteKey(t, h.Key()) }, etcdfence.ErrKeyDeleted},
		{"lease revoked", 30 * time.Second, func(s *etcdtest.Server, h *etcdfence.Hold) { s.Revoke(t, h.Lease()) }, etcdfence.ErrLeaseGone},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := start(t)
			ctx := within(t, time.Minute)
			m := memory(t, "foo")
			a := adapter(t, server.NewClient(t), &etcdfence.Options{TTL: test.ttl})
			b := adapter(t, server.NewClient(t), nil)
			ha := lock(t, a, "foo")
			wa := bind(t, ha, m)

			test.remove(server, ha)
			// 1 s is promised; the test allows 5 for a loaded machine. Without the
			// watch a deletion is never noticed, a revocation after a third of the TTL.
			mustBe(t, ends(t, ha, 5*time.Second), etcdfence.ErrLost, test.cause)

			hb := lock(t, b, "foo")
			wb := bind(t, hb, m)
			mustBe(t, wa.Apply(ctx, put("A")), fence.ErrStale)
			mustBe(t, ha.Release(ctx), etcdfence.ErrNotHeld)
			if err := wb.Apply(ctx, put("B")); err != nil {
				t.Fatal(err)
			}
			if err := hb.Verify(ctx); err != nil {
				t.Fatal(err)
			}
			// E11: the adapter gets itself a new lease if it needs one.
			release(t, hb)
			release(t, lock(t, a, "foo"))
		})
	}
}

// T9 (etcd 11456, 19597): a waiter whose lease dies is told so, while the holder
// keeps holding, and gets no token.
func TestT9WaitersLeaseDies(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	h := lock(t, adapter(t, server.NewClient(t), nil), "foo")
	b := adapter(t, server.NewClient(t), &etcdfence.Options{TTL: 30 * time.Second})
	waiter := lockLater(t, ctx, b, "foo")
	server.WaitQueued(t, "foo/", 2)
	server.Revoke(t, otherLease(t, server, "foo/", h))

	got, err := waiter.wait(t, 5*time.Second)
	mustBe(t, err, etcdfence.ErrLost, etcdfence.ErrLeaseGone)
	if got != nil {
		t.Fatal("a hold came with the error")
	}
	if err := h.Verify(ctx); err != nil {
		t.Fatal(err)
	}
	release(t, h)
	release(t, lock(t, b, "foo"))
}

// otherLease is the lease of the key under prefix that is not h's.
func otherLease(t testing.TB, s *etcdtest.Server, prefix string, h *etcdfence.Hold) clientv3.LeaseID {
	t.Helper()
	resp, err := s.Client().Get(context.Background(), prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range resp.Kvs {
		if string(kv.Key) != h.Key() {
			return clientv3.LeaseID(kv.Lease)
		}
	}
	t.Fatal("nobody else is in the queue")
	return 0
}

// A waiter whose key alone is deleted is told too (etcd 11777).
func TestWaitersKeyDeleted(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	h := lock(t, adapter(t, server.NewClient(t), nil), "foo")
	b := adapter(t, server.NewClient(t), nil)
	waiter := lockLater(t, ctx, b, "foo")
	server.WaitQueued(t, "foo/", 2)
	for _, key := range server.Queue(t, "foo/") {
		if key != h.Key() {
			server.DeleteKey(t, key)
		}
	}
	_, err := waiter.wait(t, 5*time.Second)
	mustBe(t, err, etcdfence.ErrLost, etcdfence.ErrKeyDeleted)
}

// T13 (vitess 11794, cilium 12619): the context of Lock bounds the acquisition and
// not the hold.
func TestT13RequestContext(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	a := adapter(t, server.NewClient(t), ttl2)
	type key struct{}
	rctx, cancel := context.WithTimeout(context.WithValue(ctx, key{}, "trace"), time.Second)
	h, err := a.Lock(rctx, "foo")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	first := h.Deadline()
	for renewals := 0; renewals < 10; renewals++ { // a third of the TTL each
		if err := h.Verify(ctx); err != nil {
			t.Fatal(err)
		}
		awaitRenewal(t, h)
	}
	if passed := h.Deadline().Sub(first); passed < 3*h.TTL() {
		t.Fatalf("held for %v only", passed)
	}
	if err := h.Verify(ctx); err != nil {
		t.Fatal(err)
	}
	if h.Context().Value(key{}) != "trace" {
		t.Fatal("the hold's context lost the values of the request's")
	}
	if tok, err := fence.TokenFrom(h.Context()); err != nil || tok != h.Token() {
		t.Fatalf("the token in the hold's context is %v, %v", tok, err)
	}
}

// awaitRenewal returns when the deadline has moved.
func awaitRenewal(t testing.TB, h *etcdfence.Hold) {
	t.Helper()
	before := h.Deadline()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for h.Deadline().Equal(before) {
		select {
		case <-tick.C:
		case <-h.Done():
			t.Fatal(h.Err())
		}
	}
}

// E16: the granted TTL counts, and is shown.
func TestGrantedTTL(t *testing.T) {
	server := start(t)
	a := adapter(t, server.NewClient(t), &etcdfence.Options{TTL: time.Second})
	before := time.Now()
	h := lock(t, a, "foo")
	if h.TTL() != 2*time.Second {
		t.Fatalf("asked for 1s, granted %v", h.TTL())
	}
	if d := h.Deadline(); d.Before(before.Add(time.Second)) || d.After(time.Now().Add(h.TTL()-h.TTL()/10)) {
		t.Fatalf("deadline %v after the request", d.Sub(before))
	}
}

// Verify asks etcd: it finds a key that is gone before any watch tells, and a server
// that does not answer is no verdict.
func TestVerify(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	link := server.Link(t)
	client := link.NewClient(t)
	faults := etcdtest.NewFaults(t)
	faults.Install(client)
	faults.Add(etcdtest.Rule{Op: etcdtest.OpWatch, Times: etcdtest.Always, Do: etcdtest.HoldRequest})
	h := lock(t, adapter(t, client, &etcdfence.Options{TTL: time.Minute}), "foo")

	if err := h.Verify(ctx); err != nil {
		t.Fatal(err)
	}
	link.Cut()
	mustBe(t, h.Verify(within(t, 50*time.Millisecond)), context.DeadlineExceeded)
	link.Heal()
	if err := h.Err(); err != nil {
		t.Fatalf("no answer ended the hold: %v", err)
	}
	server.DeleteKey(t, h.Key())
	if err := h.Err(); err != nil {
		t.Fatalf("%v: the test proves nothing", err)
	}
	mustBe(t, h.Verify(ctx), etcdfence.ErrLost, etcdfence.ErrKeyDeleted)
	mustBe(t, h.Err(), etcdfence.ErrLost)
}
