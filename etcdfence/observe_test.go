package etcdfence_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

func TestLeader(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	a := adapter(t, server.NewClient(t), &etcdfence.Options{Prefix: "/jobs", Owner: "label"})
	_, err := a.Leader(ctx, "foo")
	mustBe(t, err, etcdfence.ErrNoLeader, concurrency.ErrElectionNoLeader)
	_, err = a.Leader(ctx, "")
	mustBe(t, err, etcdfence.ErrBadName)

	h := lock(t, a, "foo")
	if got := leaderOf(t, a, "foo"); !strings.HasPrefix(got.Value, "label 20") || got.Revision != h.Token().Revision() {
		t.Errorf("the holder of a lock is %+v", got)
	}
	release(t, h)
	s := session(t, server)
	raw := concurrency.NewElection(s, "/jobs/foo")
	if err := raw.Campaign(ctx, "raw"); err != nil {
		t.Fatal(err)
	}
	if got := leaderOf(t, a, "foo"); got.Value != "raw" || got.Revision != raw.Rev() || got.Key != raw.Key() || got.Lease != s.Lease() {
		t.Errorf("%+v", got)
	}
	if err := raw.Resign(ctx); err != nil {
		t.Fatal(err)
	}
	server.Put(t, "/jobs/foo/stray", "")
	_, err = a.Leader(ctx, "foo")
	mustBe(t, err, etcdfence.ErrForeignKey)
	if foreign := as[*etcdfence.ForeignKeyError](t, err); foreign.Key != "/jobs/foo/stray" || foreign.Lock != "foo" {
		t.Errorf("%+v", foreign)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = a.Leader(ctx, "foo")
	mustBe(t, err, etcdfence.ErrClosed)
}

// Every leader, every proclamation and every vacancy, in order; what happens behind the
// leader in the queue is no news.
func TestObserve(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	a, b := adapter(t, server.NewClient(t), nil), adapter(t, server.NewClient(t), nil)
	o := observe(t, adapter(t, server.NewClient(t), nil), "foo")
	o.hears(t, nobody)
	la := campaign(t, a, "foo", "A")
	if got := o.hears(t, "A"); got.Revision != la.Token().Revision() {
		t.Errorf("%+v", got)
	}
	proclaim(t, la, "A2")
	proclaim(t, la, "A3")
	proclaim(t, la, "A3") // the same value is news too
	o.hears(t, "A2", "A3", "A3")
	var lb *etcdfence.Leadership
	next := runLater(t, func() (err error) {
		lb, err = b.Campaign(ctx, "foo", "B")
		return err
	})
	server.WaitQueued(t, "foo/", 2)
	for range 3 { // candidates that give up
		c := adapter(t, server.NewClient(t), nil)
		cctx, cancel := context.WithCancel(ctx)
		gone := runLater(t, func() error {
			_, err := c.Campaign(cctx, "foo", "C")
			return err
		})
		server.WaitQueued(t, "foo/", 3)
		cancel()
		mustBe(t, gone.wait(t), context.Canceled)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	release(t, la.Hold)
	if got := o.hears(t, "B"); got.Revision <= la.Token().Revision() { // no vacancy in between
		t.Errorf("%+v", got)
	}
	if err := next.wait(t); err != nil {
		t.Fatal(err)
	}
	server.DeleteKey(t, lb.Key())
	o.hears(t, nobody)
	l := campaign(t, a, "foo", "A4")
	o.hears(t, "A4")
	server.Revoke(t, l.Lease())
	o.hears(t, nobody)
}

// What one transaction does is one change: there is no vacancy between two leaders.
func TestOnlookerAndOneTransaction(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	l := campaign(t, adapter(t, server.NewClient(t), nil), "foo", "A")
	o := observe(t, adapter(t, server.NewClient(t), nil), "foo")
	o.hears(t, "A")
	s := session(t, server)
	for _, first := range []bool{true, false} { // in either order
		ops := []clientv3.Op{clientv3.OpDelete(l.Key()), clientv3.OpPut(fmt.Sprintf("foo/%x", s.Lease()), "B", clientv3.WithLease(s.Lease()))}
		if !first {
			ops = []clientv3.Op{clientv3.OpPut(l.Key(), "A", clientv3.WithLease(l.Lease())), clientv3.OpDelete(fmt.Sprintf("foo/%x", s.Lease()))}
		}
		if _, err := server.Client().Txn(ctx).Then(ops...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	o.hears(t, "B", "A")
	server.DeleteKey(t, l.Key())
	o.hears(t, nobody)
}

// A slow loop is told everything, late: also of leaders who came and went meanwhile.
func TestSlowOnlooker(t *testing.T) {
	server := start(t)
	a := adapter(t, server.NewClient(t), nil)
	o := observe(t, adapter(t, server.NewClient(t), nil), "foo")
	o.hears(t, nobody)
	release(t, campaign(t, a, "foo", "1").Hold) // the loop now stands with this news
	for i := 2; i <= 20; i++ {
		release(t, campaign(t, a, "foo", fmt.Sprint(i)).Hold)
	}
	for i := 1; i <= 20; i++ {
		o.hears(t, fmt.Sprint(i), nobody)
	}
}

// The watch breaks, and what happened meanwhile is told after it, in order.
func TestOnlookerIsCutOff(t *testing.T) {
	server := start(t)
	a := adapter(t, server.NewClient(t), nil)
	link := server.Link(t)
	o := observe(t, adapter(t, link.NewClient(t), nil), "foo")
	l := campaign(t, a, "foo", "A")
	o.hearsAtLast(t, "A")
	link.Cut()
	link.Sever()
	proclaim(t, l, "A2")
	release(t, l.Hold)
	l = campaign(t, a, "foo", "A3")
	link.Heal()
	o.hears(t, "A2", nobody, "A3")
	server.Restart(t)
	proclaim(t, l, "A4")
	o.hears(t, "A4")
}

// The same, and etcd has compacted what happened meanwhile: the onlooker goes on with
// the latest state.
func TestOnlookerAndCompaction(t *testing.T) {
	server := start(t)
	a := adapter(t, server.NewClient(t), nil)
	link := server.Link(t)
	o := observe(t, adapter(t, link.NewClient(t), nil), "foo")
	l := campaign(t, a, "foo", "A")
	o.hearsAtLast(t, "A")
	for round := range 3 {
		link.Cut()
		link.Sever()
		proclaim(t, l, "skipped")
		proclaim(t, l, "skipped too")
		last := fmt.Sprint("round ", round)
		proclaim(t, l, last)
		if _, err := server.Client().Compact(t.Context(), server.Revision(t), clientv3.WithCompactPhysical()); err != nil {
			t.Fatal(err)
		}
		link.Heal()
		o.hears(t, last)
	}
	release(t, l.Hold)
	o.hears(t, nobody)
}

// A watch of our own ends, and the next one goes on where it ended, although the state
// that is read in between is a later one.
func TestOnlookerResumes(t *testing.T) {
	server := start(t)
	a := adapter(t, server.NewClient(t), nil)
	client, faults := faulty(t, server)
	faults.Add(etcdtest.Rule{Op: etcdtest.OpWatch, Do: etcdtest.FailBefore, Err: etcdtest.ErrClosed})
	read := faults.Add(etcdtest.Rule{Op: etcdtest.OpGet, Prefix: "foo/", Skip: 1, Do: etcdtest.HoldRequest})
	o := observe(t, adapter(t, client, nil), "foo")
	o.hears(t, nobody)
	read.WaitFired(t)
	l := campaign(t, a, "foo", "A")
	proclaim(t, l, "A2")
	release(t, l.Hold)
	campaign(t, a, "foo", "A3")
	read.Release()
	o.hears(t, "A", "A2", nobody, "A3")
}

// Watches that fail in whatever way: nothing is told twice, and nothing is missed.
func TestOnlookersWatchFails(t *testing.T) {
	for _, failure := range []error{nil, etcdtest.ErrClosed, rpctypes.ErrNoLeader, rpctypes.ErrTooManyRequests} {
		t.Run(fmt.Sprint(failure), func(t *testing.T) {
			server := start(t)
			a := adapter(t, server.NewClient(t), nil)
			client, faults := faulty(t, server)
			fails := faults.Add(etcdtest.Rule{Op: etcdtest.OpWatch, Times: 3, Do: etcdtest.FailBefore, Err: failure})
			o := observe(t, adapter(t, client, nil), "foo")
			o.hears(t, nobody)
			fails.WaitFired(t)
			l := campaign(t, a, "foo", "A")
			o.hears(t, "A")
			proclaim(t, l, "A2")
			o.hears(t, "A2")
			release(t, l.Hold)
			o.hears(t, nobody)
		})
	}
}

// etcd comes back from a backup: its revisions are behind those of the watch, which
// would be silent until they catch up.
func TestOnlookerAndRollBack(t *testing.T) {
	server := start(t)
	early := server.Snapshot(t)
	for range 50 {
		server.Put(t, "unrelated", "")
	}
	o := observe(t, adapter(t, server.NewClient(t), ttl2), "foo")
	o.hears(t, nobody)
	before := adapter(t, server.NewClient(t), nil)
	campaign(t, before, "foo", "before")
	o.hears(t, "before")
	server.RollBack(t, early)
	after := campaign(t, adapter(t, server.NewClient(t), nil), "foo", "after")
	o.hearsAtLast(t, "after")
	proclaim(t, after, "again")
	o.hears(t, "again")
	release(t, after.Hold)
	o.hears(t, nobody)
}

// A member without its cluster says nothing, for ever: the onlooker must go to another.
func TestOnlookerOfALoneMember(t *testing.T) {
	cluster := etcdtest.StartCluster(t, 3, etcdtest.WithFastLeases())
	o := observe(t, adapter(t, cluster.NewClient(t), &etcdfence.Options{TTL: time.Minute}), "foo")
	for _, member := range cluster.Members() {
		cluster.Isolate(member)
		var other *etcdtest.Server
		for _, m := range cluster.Members() {
			if m != member {
				other = m
			}
		}
		_ = cluster.Leader(t)
		a := adapter(t, other.NewClient(t), nil)
		l := campaign(t, a, "foo", "leader beside "+member.Name())
		o.hearsAtLast(t, "leader beside "+member.Name())
		release(t, l.Hold)
		cluster.Rejoin(member)
	}
}

// The end of a loop says why it ended.
func TestObserveEnds(t *testing.T) {
	server := start(t)
	client, faults := faulty(t, server)
	a := adapter(t, client, nil)
	end := func(ctx context.Context, name string) (last error) {
		for _, err := range a.Observe(ctx, name) {
			last = err
		}
		return last
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	cancel(stop)
	mustBe(t, end(ctx, "foo"), stop)
	mustBe(t, end(within(t, 50*time.Millisecond), "foo"), context.DeadlineExceeded)
	mustBe(t, end(within(t, 20*time.Second), ""), etcdfence.ErrBadName)
	server.Put(t, "stray/key", "")
	mustBe(t, end(within(t, 20*time.Second), "stray"), etcdfence.ErrForeignKey)
	faults.Add(etcdtest.Rule{Op: etcdtest.OpGet, Prefix: "foo", Do: etcdtest.FailBefore, Err: rpctypes.ErrPermissionDenied})
	mustBe(t, end(within(t, 20*time.Second), "foo"), rpctypes.ErrPermissionDenied)
	for leader, err := range a.Observe(t.Context(), "foo") {
		mustBe(t, err, etcdfence.ErrNoLeader)
		if leader != (etcdfence.Leader{}) {
			t.Error(leader)
		}
		break
	}
	closed := runLater(t, func() error { return end(within(t, 20*time.Second), "foo") })
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	mustBe(t, closed.wait(t), etcdfence.ErrClosed)
	mustBe(t, end(within(t, 20*time.Second), "foo"), etcdfence.ErrClosed)
}
