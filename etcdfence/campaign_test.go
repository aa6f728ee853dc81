package etcdfence_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
)

// A leadership is a hold: its token is the create revision of a key as etcd's own
// elections make them, with the value in it.
func TestLeadershipIsAHold(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	a := adapter(t, server.NewClient(t), nil)
	for _, value := range []string{"", "host:80", "\x00\xff not text"} {
		l := campaign(t, a, "jobs/1", value)
		kv, err := server.Client().Get(ctx, l.Key())
		if err != nil || len(kv.Kvs) != 1 {
			t.Fatal(kv, err)
		}
		if got := kv.Kvs[0]; string(got.Value) != value || got.CreateRevision != l.Token().Revision() || got.Lease != int64(l.Lease()) {
			t.Errorf("the key is %v, the token %v", got, l.Token())
		}
		if err := l.Verify(ctx); err != nil {
			t.Error(err)
		}
		if tok, err := fence.TokenFrom(l.Context()); err != nil || tok != l.Token() {
			t.Errorf("the token in the context: %v, %v", tok, err)
		}
		m := memory(t, "jobs/1")
		if err := bind(t, l.Hold, m).Apply(ctx, put("written")); err != nil {
			t.Error(err)
		}
		release(t, l.Hold)
		mustBe(t, l.Err(), etcdfence.ErrNotHeld)
	}
	server.WaitEmpty(t, "jobs")
}

// A lock, an election and a raw election of one name have one queue.
func TestCampaignAndLockExcludeEachOther(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	a, b := adapter(t, server.NewClient(t), nil), adapter(t, server.NewClient(t), nil)
	l := campaign(t, a, "foo", "A")
	_, err := a.TryLock(ctx, "foo")
	mustBe(t, err, etcdfence.ErrLocked)
	_, err = b.TryLock(ctx, "foo")
	mustBe(t, err, etcdfence.ErrLocked)
	waiter := lockLater(t, ctx, b, "foo")
	server.WaitQueued(t, "foo/", 2)
	raw := concurrency.NewElection(session(t, server), "foo")
	elected := runLater(t, func() error { return raw.Campaign(ctx, "raw") })
	server.WaitQueued(t, "foo/", 3)
	release(t, l.Hold)
	h, err := waiter.wait(t, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	release(t, h)
	if err := elected.wait(t); err != nil || raw.Rev() <= h.Token().Revision() {
		t.Fatal(raw.Rev(), err)
	}
	waiting := make(chan *etcdfence.Leadership, 1)
	next := runLater(t, func() error {
		l, err := a.Campaign(ctx, "foo", "A again")
		waiting <- l
		return err
	})
	server.WaitQueued(t, "foo/", 2)
	if err := raw.Resign(ctx); err != nil {
		t.Fatal(err)
	}
	if err := next.wait(t); err != nil {
		t.Fatal(err)
	}
	release(t, (<-waiting).Hold)
}

func TestBadValue(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	a := adapter(t, server.NewClient(t), nil)
	_, err := a.Campaign(ctx, "foo", strings.Repeat("x", 1<<20+1))
	mustBe(t, err, etcdfence.ErrBadValue)
	_, err = a.Campaign(ctx, "", "x")
	mustBe(t, err, etcdfence.ErrBadName)
	l := campaign(t, a, "foo", strings.Repeat("x", 1<<20))
	mustBe(t, l.Proclaim(ctx, strings.Repeat("x", 1<<20+1)), etcdfence.ErrBadValue)
	proclaim(t, l, strings.Repeat("y", 1<<20))
	release(t, l.Hold)
}

// T15 (cagriekin/charts 326): the candidate's key goes while it campaigns, and then
// the leader resigns. Its queue is empty, and it does not lead: the end of the queue
// is not enough, the own key must be there. The watch of its own key is held back, so
// that nothing but the recipe can notice.
func TestT15PhantomLeader(t *testing.T) {
	for _, test := range []struct {
		name  string
		gone  func(*etcdtest.Server, *etcdfence.Hold)
		cause error
	}{
		{"lease revoked", func(s *etcdtest.Server, h *etcdfence.Hold) { s.Revoke(t, otherLease(t, s, "foo/", h)) }, etcdfence.ErrLeaseGone},
		{"key deleted", func(s *etcdtest.Server, _ *etcdfence.Hold) { s.DeleteKey(t, s.Queue(t, "foo/")[1]) }, etcdfence.ErrKeyDeleted},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := start(t)
			ctx := within(t, time.Minute)
			leader := campaign(t, adapter(t, server.NewClient(t), nil), "foo", "A")
			client, faults := faulty(t, server)
			faults.Add(etcdtest.Rule{Op: etcdtest.OpWatch, Times: etcdtest.Always, Do: etcdtest.HoldRequest,
				Match: func(c etcdtest.Call) bool { return c.Key != leader.Key() }})
			b := adapter(t, client, &etcdfence.Options{TTL: time.Minute})
			var got *etcdfence.Leadership
			candidate := runLater(t, func() (err error) {
				got, err = b.Campaign(ctx, "foo", "B")
				return err
			})
			server.WaitQueued(t, "foo/", 2)

			test.gone(server, leader.Hold)
			release(t, leader.Hold)

			mustBe(t, candidate.wait(t), etcdfence.ErrLost, test.cause)
			if got != nil {
				t.Fatal("a leadership came with the error")
			}
			_, err := b.Leader(ctx, "foo")
			mustBe(t, err, etcdfence.ErrNoLeader)
			release(t, campaign(t, b, "foo", "B").Hold)
		})
	}
}

// What T15 is about: etcd's own election reports the leadership. If this test fails
// etcd has cured it, and the documents are to be corrected.
func TestT15RawElection(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	leader := campaign(t, adapter(t, server.NewClient(t), nil), "foo", "A")
	s := session(t, server)
	raw := concurrency.NewElection(s, "foo")
	elected := runLater(t, func() error { return raw.Campaign(ctx, "raw") })
	server.WaitQueued(t, "foo/", 2)
	server.Revoke(t, s.Lease())
	release(t, leader.Hold)
	if err := elected.wait(t); err != nil {
		t.Fatalf("the raw election noticed: %v", err)
	}
	server.WaitEmpty(t, "foo/") // it leads, and there is no leader
}

// T6 for elections: the candidate's key is made and the reply lost. Onlookers may see
// the value for a moment; nobody has the token, and the next one leads soon.
func TestLostCampaignReply(t *testing.T) {
	server := start(t)
	client, faults := faulty(t, server)
	a := adapter(t, client, &etcdfence.Options{TTL: time.Minute})
	faults.Add(with(createsUnder("foo/"), etcdtest.LoseReply, 1))
	l, err := a.Campaign(within(t, 20*time.Second), "foo", "A")
	mustBe(t, err, etcdfence.ErrUnknownOutcome, context.DeadlineExceeded)
	if l != nil {
		t.Fatal("a leadership came with the error")
	}
	made := server.Revision(t)
	next := campaign(t, adapter(t, server.NewClient(t), nil), "foo", "B")
	if got := next.Token().Revision(); got < made {
		t.Fatalf("token %d after an orphan that is as new as %d", got, made)
	}
	release(t, next.Hold)
	release(t, campaign(t, a, "foo", "A").Hold)
}

// T8 for elections: the key goes under a leader.
func TestLeadersKeyRemoved(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	l := campaign(t, adapter(t, server.NewClient(t), &etcdfence.Options{TTL: 30 * time.Second}), "foo", "A")
	server.DeleteKey(t, l.Key())
	mustBe(t, ends(t, l.Hold, 5*time.Second), etcdfence.ErrLost, etcdfence.ErrKeyDeleted)
	next := campaign(t, adapter(t, server.NewClient(t), nil), "foo", "B")
	mustBe(t, l.Proclaim(ctx, "late"), etcdfence.ErrLost)
	mustBe(t, l.Release(ctx), etcdfence.ErrNotHeld)
	if got, err := next.Context(), next.Verify(ctx); err != nil || got.Err() != nil {
		t.Fatal(err)
	}
	release(t, next.Hold)
}

// A campaign that nobody contests costs one request, as a lock does; etcd's own costs two.
func TestRequestsOfACampaign(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	var ours, theirs etcdtest.Counter
	a := adapter(t, server.NewClient(t, ours.Option()), nil)
	release(t, campaign(t, a, "warm up", "").Hold)
	ours.Reset()
	release(t, campaign(t, a, "foo", "A").Hold)
	if got := ours.Count() - ours.Count("Watch", "LeaseKeepAlive"); got != 2 {
		t.Errorf("campaign and release: %v", &ours)
	}
	s, err := concurrency.NewSession(server.NewClient(t, theirs.Option()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	theirs.Reset()
	raw := concurrency.NewElection(s, "foo")
	if err := raw.Campaign(ctx, "raw"); err != nil {
		t.Fatal(err)
	}
	if err := raw.Resign(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("ours %v; theirs %v", &ours, &theirs)
}
