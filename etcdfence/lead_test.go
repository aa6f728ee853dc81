package etcdfence_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
)

// leading is Lead in the background, with a function that the test steers.
type leading struct {
	*running
	terms chan *etcdfence.Leadership // one for each call
	ended chan error                 // why the context of the call ended
	reply chan error                 // what the call returns
}

func lead(t testing.TB, ctx context.Context, a *etcdfence.Adapter, opts *etcdfence.LeadOptions) *leading {
	r := &leading{terms: make(chan *etcdfence.Leadership, 1), ended: make(chan error, 1), reply: make(chan error)}
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	r.running = runLater(t, func() error {
		return etcdfence.Lead(ctx, a, "foo", "A", opts, func(ctx context.Context, l *etcdfence.Leadership) error {
			if tok, err := fence.TokenFrom(ctx); err != nil || tok != l.Token() {
				t.Errorf("the token in the context: %v, %v", tok, err)
			}
			r.terms <- l
			select {
			case <-ctx.Done():
				r.ended <- context.Cause(ctx)
			case err := <-r.reply:
				return err
			}
			select {
			case err := <-r.reply:
				return err
			case <-over:
				return nil
			}
		})
	})
	t.Cleanup(func() { cancel(nil); close(over) }) // for a test that has failed
	return r
}

// What the function returns while it leads is what Lead returns, and nobody leads then.
func TestLeadReturnsWhatTheFunctionReturns(t *testing.T) {
	server := start(t)
	a := adapter(t, server.NewClient(t), nil)
	for _, want := range []error{nil, errors.New("the work failed")} {
		r := lead(t, within(t, time.Minute), a, nil)
		await(t, r.terms)
		r.reply <- want
		if got := r.wait(t); !errors.Is(got, want) {
			t.Errorf("Lead returned %v, want %v", got, want)
		}
		_, err := a.Leader(t.Context(), "foo")
		mustBe(t, err, etcdfence.ErrNoLeader)
	}
}

// A leadership is lost: the function is told why, and this process does not campaign
// before it has returned. Then it leads again, with a newer token.
func TestLeadWaitsForTheFunction(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	core, logs := observer.New(zap.WarnLevel)
	var lost []error
	opts := &etcdfence.LeadOptions{Lost: func(_ *etcdfence.Leadership, err error) error {
		lost = append(lost, err)
		return nil
	}}
	a := adapter(t, server.NewClient(t), &etcdfence.Options{TTL: 2 * time.Second, Logger: zap.New(core)})
	r := lead(t, ctx, a, opts)
	first := await(t, r.terms)
	old := first.Token()
	server.DeleteKey(t, first.Key())
	mustBe(t, await(t, r.ended), etcdfence.ErrLost, etcdfence.ErrKeyDeleted)

	server.WaitEmpty(t, "foo/")
	for logs.FilterMessageSnippet("has not returned").Len() == 0 { // one TTL later
		select {
		case <-ctx.Done():
			t.Fatal("no warning about a function that does not return")
		case <-r.terms:
			t.Fatal("a second term beside the first")
		case <-time.After(10 * time.Millisecond):
		}
	}
	if q := server.Queue(t, "foo/"); len(q) != 0 {
		t.Fatalf("%q: it campaigns while the function runs", q)
	}
	failed := errors.New("could not finish")
	r.reply <- failed
	second := await(t, r.terms)
	if second.Token().Compare(old) <= 0 {
		t.Errorf("the second token %v is not newer than %v", second.Token(), old)
	}
	if !first.Token().IsZero() {
		t.Error("the first leadership was not released")
	}
	r.reply <- nil
	if err := r.wait(t); err != nil {
		t.Fatal(err)
	}
	if len(lost) != 1 {
		t.Fatalf("Lost was called with %v", lost)
	}
	mustBe(t, lost[0], failed, etcdfence.ErrLost, etcdfence.ErrKeyDeleted)
}

// The end of the context ends the term in order: the function first, then the release.
func TestLeadEndsWithItsContext(t *testing.T) {
	server := start(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	a := adapter(t, server.NewClient(t), nil)
	r := lead(t, ctx, a, nil)
	l := await(t, r.terms)
	shutdown := errors.New("shutdown")
	cancel(shutdown)
	mustBe(t, await(t, r.ended), shutdown)
	if err := l.Verify(within(t, 20*time.Second)); err != nil {
		t.Fatalf("released before the function returned: %v", err)
	}
	r.reply <- shutdown
	mustBe(t, r.wait(t), shutdown)
	if q := server.Queue(t, "foo/"); len(q) != 0 {
		t.Errorf("%q after Lead", q)
	}
	// And while it campaigns.
	release(t, func() *etcdfence.Hold {
		h := lock(t, adapter(t, server.NewClient(t), nil), "foo")
		ctx, cancel := context.WithCancel(context.Background())
		r := lead(t, ctx, a, nil)
		server.WaitQueued(t, "foo/", 2)
		cancel()
		mustBe(t, r.wait(t), context.Canceled)
		return h
	}())
	server.WaitEmpty(t, "foo/")
}

// T3 for leaders: the link of the leader goes silent. Its function's context ends
// before etcd makes the next one leader; what it writes all the same is refused; after
// the heal it stands in the queue again.
func TestLeadThroughAPartition(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	m := memory(t, "foo")
	link := server.Link(t)
	r := lead(t, ctx, adapter(t, link.NewClient(t), ttl2), nil)
	first := await(t, r.terms)
	w := bind(t, first.Hold, m)

	var second *etcdfence.Leadership
	b := adapter(t, server.NewClient(t), nil)
	next := runLater(t, func() (err error) {
		second, err = b.Campaign(ctx, "foo", "B")
		return err
	})
	server.WaitQueued(t, "foo/", 2)
	awaitRenewal(t, first.Hold) // so that the deadline is one that was moved
	link.Cut()
	mustBe(t, await(t, r.ended), etcdfence.ErrLost, etcdfence.ErrDeadline)
	select {
	case <-next.done:
		t.Fatal("the next leader was made before the first one's context ended")
	default:
	}
	if err := next.wait(t); err != nil {
		t.Fatal(err)
	}
	if err := bind(t, second.Hold, m).Apply(ctx, put("B")); err != nil {
		t.Fatal(err)
	}
	link.Heal()
	mustBe(t, first.Proclaim(ctx, "late"), etcdfence.ErrLost)
	late := w.Apply(ctx, put("late A"))
	mustBe(t, late, fence.ErrStale)
	r.reply <- late
	server.WaitQueued(t, "foo/", 2)
	if err := second.Verify(ctx); err != nil || value(t, m) != "B" {
		t.Fatal(err, value(t, m))
	}
	newest := second.Token()
	release(t, second.Hold)
	third := await(t, r.terms)
	if third.Token().Compare(newest) <= 0 {
		t.Errorf("%v is not newer than %v", third, newest)
	}
	if err := bind(t, third.Hold, m).Apply(ctx, put("A again")); err != nil {
		t.Fatal(err)
	}
	r.reply <- nil
	if err := r.wait(t); err != nil {
		t.Fatal(err)
	}
}

// Failures that pass are waited for; those that stay are returned.
func TestLeadAndFailedCampaigns(t *testing.T) {
	server := start(t)
	client, faults := faulty(t, server)
	a := adapter(t, client, nil)
	faults.Add(with(createsUnder("foo/"), etcdtest.LoseReply, 1))
	faults.Add(with(createsUnder("foo/"), etcdtest.FailBefore, 2))
	r := lead(t, within(t, time.Minute), a, nil)
	await(t, r.terms)
	r.reply <- nil
	if err := r.wait(t); err != nil {
		t.Fatal(err)
	}

	denied := with(createsUnder("foo/"), etcdtest.FailBefore, 1)
	denied.Err = rpctypes.ErrPermissionDenied
	faults.Add(denied)
	mustBe(t, lead(t, within(t, time.Minute), a, nil).wait(t), rpctypes.ErrPermissionDenied)
	server.Put(t, "foo/stray", "")
	mustBe(t, lead(t, within(t, time.Minute), a, nil).wait(t), etcdfence.ErrForeignKey)
	server.DeleteKey(t, "foo/stray")
	r = lead(t, within(t, time.Minute), a, nil)
	await(t, r.terms)
	done := runLater(t, a.Close)
	mustBe(t, await(t, r.ended), etcdfence.ErrClosed)
	r.reply <- nil
	mustBe(t, r.wait(t), etcdfence.ErrClosed)
	if err := done.wait(t); err != nil {
		t.Fatal(err)
	}
}

// etcd went back: no campaign gives a token that the resource takes, so it stops.
func TestLeadAndRollBack(t *testing.T) {
	server := start(t)
	m := memory(t, "foo")
	future, err := fence.NewToken("foo", 0, 1<<40, "before the restore")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Claim(t.Context(), future); err != nil {
		t.Fatal(err)
	}
	terms := 0
	err = etcdfence.Lead(within(t, time.Minute), adapter(t, server.NewClient(t), nil), "foo", "A", nil,
		func(ctx context.Context, l *etcdfence.Leadership) error {
			terms++
			_, err := etcdfence.Bind(ctx, l.Hold, resource(m))
			return err
		})
	mustBe(t, err, etcdfence.ErrRolledBack)
	if terms != 1 {
		t.Errorf("%d terms", terms)
	}
	server.WaitEmpty(t, "foo/")
}

// A refused write ends the leadership, though its key is in etcd; Lead gives it back and
// campaigns again.
func TestLeadAfterARefusal(t *testing.T) {
	server := start(t)
	m := memory(t, "foo")
	terms := 0
	err := etcdfence.Lead(within(t, time.Minute), adapter(t, server.NewClient(t), nil), "foo", "A", nil,
		func(ctx context.Context, l *etcdfence.Leadership) error {
			if terms++; terms == 1 {
				w := bind(t, l.Hold, m)
				server.DeleteKey(t, l.Key())
				next := campaign(t, adapter(t, server.NewClient(t), nil), "foo", "B")
				bind(t, next.Hold, m)
				release(t, next.Hold)
				return w.Apply(context.WithoutCancel(ctx), put("A")) // and nil would be the same
			}
			return bind(t, l.Hold, m).Apply(ctx, put("A again"))
		})
	if err != nil || terms != 2 || value(t, m) != "A again" {
		t.Fatal(err, terms, value(t, m))
	}
}

// The function steps down itself; Lost ends the loop; a panic releases.
func TestLeadStops(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	a := adapter(t, server.NewClient(t), nil)
	err := etcdfence.Lead(ctx, a, "foo", "A", nil, func(ctx context.Context, l *etcdfence.Leadership) error { return l.Release(ctx) })
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("restart the process")
	err = etcdfence.Lead(ctx, a, "foo", "A", &etcdfence.LeadOptions{Lost: func(l *etcdfence.Leadership, err error) error {
		mustBe(t, err, etcdfence.ErrLost)
		return stop
	}}, func(ctx context.Context, l *etcdfence.Leadership) error {
		server.Revoke(t, l.Lease())
		<-ctx.Done()
		return nil
	})
	mustBe(t, err, stop)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = etcdfence.Lead(ctx, a, "foo", "A", nil, func(context.Context, *etcdfence.Leadership) error { panic("in the function") })
	}()
	if q := server.Queue(t, "foo/"); len(q) != 0 {
		t.Errorf("%q after Lead", q)
	}
}
