package etcdfence_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// proclaimsUnder matches the transaction that changes a leader's value: a put and no
// more, where the one that makes the key looks for the holder too.
func proclaimsUnder(prefix string) etcdtest.Rule {
	return etcdtest.Rule{Op: etcdtest.OpTxn, Prefix: prefix, Match: func(c etcdtest.Call) bool {
		return isProclamation(c)
	}}
}

func isProclamation(c etcdtest.Call) bool { return len(c.Then) == 1 && c.Then[0].IsPut() }

func leaderOf(t testing.TB, a *etcdfence.Adapter, name string) etcdfence.Leader {
	t.Helper()
	l, err := a.Leader(within(t, 20*time.Second), name)
	if err != nil {
		t.Fatalf("Leader(%q): %v", name, err)
	}
	return l
}

// A proclamation changes the value and nothing else, least of all the token.
func TestProclaim(t *testing.T) {
	server := start(t)
	a := adapter(t, server.NewClient(t), nil)
	l := campaign(t, a, "foo", "one")
	before := leaderOf(t, a, "foo")
	proclaim(t, l, "two")
	after := leaderOf(t, a, "foo")
	if after.ModRevision <= before.ModRevision {
		t.Errorf("mod revision %d after %d", after.ModRevision, before.ModRevision)
	}
	before.Value, before.ModRevision = "two", after.ModRevision
	if after != before || after.Revision != l.Token().Revision() || after.Key != l.Key() || after.Lease != l.Lease() {
		t.Errorf("%+v, want %+v", after, before)
	}
	release(t, l.Hold)
	mustBe(t, l.Proclaim(t.Context(), "three"), etcdfence.ErrNotHeld)
	server.WaitEmpty(t, "foo/")
}

// A proclamation whose reply is lost is sent again, and made once.
func TestProclaimLostReply(t *testing.T) {
	server := start(t)
	client, faults := faulty(t, server)
	a := adapter(t, client, nil)
	l := campaign(t, a, "foo", "one")
	sent := faults.Add(with(proclaimsUnder("foo/"), etcdtest.LoseReply, 2))
	proclaim(t, l, "two")
	kv, err := server.Client().Get(t.Context(), l.Key())
	if err != nil {
		t.Fatal(err)
	}
	if got := kv.Kvs[0]; string(got.Value) != "two" || got.Version != 2 || sent.Hits() != 2 {
		t.Errorf("%q, written %d times, sent %d times at least", got.Value, got.Version, sent.Hits())
	}
	proclaim(t, l, "three")
	release(t, l.Hold)
}

// A proclamation that was given up, but whose request is still on its way, arrives
// after a later one: it must not replace that. With the guard of etcd's own election,
// the create revision, it would.
func TestLateProclamation(t *testing.T) {
	server := start(t)
	client, faults := faulty(t, server)
	a := adapter(t, client, nil)
	l := campaign(t, a, "foo", "one")
	lost := faults.Add(with(proclaimsUnder("foo/"), etcdtest.FailBefore, etcdtest.Always))
	mustBe(t, l.Proclaim(within(t, 50*time.Millisecond), "late"), etcdfence.ErrUnknownOutcome, context.DeadlineExceeded)
	lost.WaitFired(t)
	var late etcdtest.Call
	for _, c := range faults.Calls() {
		if isProclamation(c) {
			late = c
		}
	}
	faults.Clear()
	proclaim(t, l, "two")
	resp, err := server.Client().Txn(t.Context()).If(late.If...).Then(late.Then...).Commit()
	if err != nil || len(late.Then) != 1 || string(late.Then[0].ValueBytes()) != "late" {
		t.Fatal(late, err)
	}
	if got := leaderOf(t, a, "foo"); resp.Succeeded || got.Value != "two" {
		t.Fatalf("the late proclamation was carried out: %q", got.Value)
	}
	// One that arrived, unknown to the leader, stands in nobody's way.
	faults.Add(with(proclaimsUnder("foo/"), etcdtest.LoseReply, 1))
	faults.Add(with(proclaimsUnder("foo/"), etcdtest.FailBefore, etcdtest.Always))
	mustBe(t, l.Proclaim(within(t, 50*time.Millisecond), "three"), etcdfence.ErrUnknownOutcome)
	faults.Clear()
	proclaim(t, l, "four")
	if got := leaderOf(t, a, "foo"); got.Value != "four" {
		t.Fatalf("%q", got.Value)
	}
	release(t, l.Hold)
}

// E4 for proclamations and resignations: the leader's key was deleted unnoticed, and
// under the same name and lease stands the key of a later leader. Only the guards on
// the create revision are left.
func TestLateProclaimAndResignTouchNothing(t *testing.T) {
	for _, late := range []struct {
		name string
		do   func(*etcdfence.Leadership, context.Context) error
		is   error
	}{
		{"proclaim", func(l *etcdfence.Leadership, ctx context.Context) error { return l.Proclaim(ctx, "late") }, etcdfence.ErrLost},
		{"resign", func(l *etcdfence.Leadership, ctx context.Context) error { return l.Release(ctx) }, etcdfence.ErrNotHeld},
	} {
		t.Run(late.name, func(t *testing.T) {
			server := start(t)
			ctx := within(t, time.Minute)
			client, faults := faulty(t, server)
			faults.Add(etcdtest.Rule{Op: etcdtest.OpWatch, Times: etcdtest.Always, Do: etcdtest.HoldRequest})
			a := adapter(t, client, nil)
			l := campaign(t, a, "foo", "A")
			server.DeleteKey(t, l.Key())
			s, err := concurrency.NewSession(server.NewClient(t), concurrency.WithLease(l.Lease()))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Orphan()
			next := concurrency.NewElection(s, "foo")
			if err := next.Campaign(ctx, "next"); err != nil {
				t.Fatal(err)
			}
			if next.Key() != l.Key() {
				t.Fatalf("the keys %q and %q differ: the test proves nothing", next.Key(), l.Key())
			}
			mustBe(t, late.do(l, ctx), late.is)
			if got := leaderOf(t, a, "foo"); got.Value != "next" || got.Revision != next.Rev() {
				t.Fatalf("the next leader became %+v", got)
			}
			mustBe(t, l.Err(), late.is)
		})
	}
}

// Proclaim returns with its context while etcd is away, and with its leadership.
func TestBoundedProclaim(t *testing.T) {
	server := start(t)
	link := server.Link(t)
	client, faults := link.NewClient(t), etcdtest.NewFaults(t)
	faults.Install(client)
	a := adapter(t, client, &etcdfence.Options{TTL: 30 * time.Second})
	l := campaign(t, a, "foo", "one")
	link.Cut()
	mustBe(t, l.Proclaim(within(t, 100*time.Millisecond), "two"), etcdfence.ErrUnknownOutcome, context.DeadlineExceeded)
	link.Heal()
	proclaim(t, l, "three")
	held := faults.Add(with(proclaimsUnder("foo/"), etcdtest.HoldReply, 1))
	late := runLater(t, func() error { return l.Proclaim(within(t, time.Minute), "four") })
	held.WaitFired(t)
	waits := runLater(t, func() error { return l.Proclaim(within(t, time.Minute), "five") })
	release(t, l.Hold)
	mustBe(t, late.wait(t), etcdfence.ErrUnknownOutcome, etcdfence.ErrNotHeld)
	mustBe(t, waits.wait(t), etcdfence.ErrNotHeld)
	server.WaitEmpty(t, "foo/")
}

// An answer that no repetition changes is not repeated.
func TestProclaimIsRefused(t *testing.T) {
	server := start(t)
	client, faults := faulty(t, server)
	a := adapter(t, client, nil)
	l := campaign(t, a, "foo", "one")
	denied := with(proclaimsUnder("foo/"), etcdtest.FailBefore, 1)
	denied.Err = rpctypes.ErrPermissionDenied
	faults.Add(denied)
	err := l.Proclaim(within(t, 20*time.Second), "two")
	mustBe(t, err, rpctypes.ErrPermissionDenied)
	if isAll(err, etcdfence.ErrUnknownOutcome) {
		t.Errorf("%v: etcd has said no", err)
	}
	full := with(proclaimsUnder("foo/"), etcdtest.FailBefore, 1)
	full.Err = rpctypes.ErrNoSpace
	faults.Add(full)
	mustBe(t, l.Proclaim(within(t, 20*time.Second), "two"), rpctypes.ErrNoSpace, etcdfence.ErrUnknownOutcome)
	proclaim(t, l, "two")
	release(t, l.Hold)
}

// Goroutines of one leader, and another process that changes its value through the
// leader's key, as the election service lets it: every proclamation is made.
func TestParallelProclamations(t *testing.T) {
	server := start(t)
	a := adapter(t, server.NewClient(t), nil)
	l := campaign(t, a, "foo", "one")
	s, err := concurrency.NewSession(server.NewClient(t), concurrency.WithLease(l.Lease()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Orphan()
	other := concurrency.ResumeElection(s, "foo/", l.Key(), l.Token().Revision())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := l.Proclaim(t.Context(), fmt.Sprint("ours ", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Go(func() {
		for i := range 8 {
			if err := other.Proclaim(t.Context(), fmt.Sprint("theirs ", i)); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	kv, err := server.Client().Get(t.Context(), l.Key())
	if err != nil || kv.Kvs[0].Version != 17 {
		t.Errorf("%v, %v: want 17 writes", kv, err)
	}
	release(t, l.Hold)
}

// An administrator's plain put takes the key off its lease, and it would outlive the
// leader for good. The next proclamation puts it back.
func TestProclaimRestoresTheLease(t *testing.T) {
	server := start(t)
	a := adapter(t, server.NewClient(t), nil)
	l := campaign(t, a, "foo", "one")
	server.Put(t, l.Key(), "an administrator's")
	_, err := a.Leader(t.Context(), "foo")
	mustBe(t, err, etcdfence.ErrForeignKey)
	proclaim(t, l, "two")
	if got := leaderOf(t, a, "foo"); got.Lease != l.Lease() || got.Value != "two" {
		t.Errorf("%+v", got)
	}
	server.Put(t, l.Key(), "an administrator's")
	server.Revoke(t, l.Lease())
	mustBe(t, l.Proclaim(within(t, 20*time.Second), "three"), etcdfence.ErrLost, etcdfence.ErrLeaseGone)
	server.DeleteKey(t, l.Key())
}
