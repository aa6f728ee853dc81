package interop_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/etcdfence"
)

// E18: elections of every kind are one election. Whoever leads, all others wait and see
// the same leader with the same generation, and the next one's is newer.
func TestElectionsAreOne(t *testing.T) {
	for _, kind := range candidates {
		t.Run(kind.name, func(t *testing.T) { oneElection(t, apart(t), kind.make) })
		t.Run(kind.name+" on an older server", func(t *testing.T) { oneElection(t, older(t), kind.make) })
	}
}

func oneElection(t *testing.T, at site, make func(*testing.T, site) candidate) {
	ctx := within(t, minute)
	we, they := newOurs(t, at), make(t, at)
	news := observing(t, we.adapter)
	if got := <-news; !errors.Is(got.err, etcdfence.ErrNoLeader) {
		t.Fatal(got)
	}
	ours, err := we.adapter.Campaign(ctx, name, "ours")
	if err != nil {
		t.Fatal(err)
	}
	seen(t, they, "ours", ours.Token().Revision())

	var theirs int64
	elected := inBackground(t, func() (err error) {
		theirs, err = they.campaign(ctx, "theirs")
		return err
	})
	at.WaitQueued(t, queue, 2)
	if err := ours.Proclaim(ctx, "ours, changed"); err != nil {
		t.Fatal(err)
	}
	seen(t, make(t, at), "ours, changed", ours.Token().Revision())
	if _, err := we.adapter.TryLock(ctx, name); !errors.Is(err, etcdfence.ErrLocked) {
		t.Fatal(err)
	}
	first := ours.Token().Revision()
	if err := ours.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if err := elected(); err != nil {
		t.Fatal(err)
	}
	if got, err := we.adapter.Leader(ctx, name); err != nil || got.Value != "theirs" || got.Revision != theirs || theirs <= first {
		t.Fatalf("%+v, %v; elected with %d after %d", got, err, theirs, first)
	}

	again := inBackground(t, func() (err error) {
		ours, err = we.adapter.Campaign(ctx, name, "ours again")
		return err
	})
	at.WaitQueued(t, queue, 2)
	if err := they.resign(ctx); err != nil {
		t.Fatal(err)
	}
	if err := again(); err != nil || ours.Token().Revision() <= theirs {
		t.Fatal(ours, err)
	}
	last := ours.Token().Revision()
	if err := ours.Release(ctx); err != nil {
		t.Fatal(err)
	}
	for _, want := range []etcdfence.Leader{
		{Value: "ours", Revision: first}, {Value: "ours, changed", Revision: first}, {Value: "theirs", Revision: theirs},
		{Value: "ours again", Revision: last}, {}} {
		if got := <-news; got.leader.Value != want.Value || got.leader.Revision != want.Revision {
			t.Errorf("the onlooker was told %+v, want %+v", got, want)
		}
	}
	at.WaitEmpty(t, queue)
}

// seen checks whom another kind sees leading.
func seen(t *testing.T, by candidate, value string, revision int64) {
	t.Helper()
	got, rev, err := by.leader(within(t, 20*time.Second))
	if err != nil || got != value || rev != revision {
		t.Fatalf("%T sees %q at %d (%v), want %q at %d", by, got, rev, err, value, revision)
	}
}

type news struct {
	leader etcdfence.Leader
	err    error
}

// observing runs a loop over Observe for the length of the test.
func observing(t *testing.T, a *etcdfence.Adapter) <-chan news {
	ctx, cancel := context.WithCancel(within(t, minute))
	told := make(chan news)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(told)
		for leader, err := range a.Observe(ctx, name) {
			select {
			case told <- news{leader, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return told
}

// inBackground starts f and returns the way to wait for its result.
func inBackground(t *testing.T, f func() error) (wait func() error) {
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { err = f() })
	t.Cleanup(wg.Wait)
	return func() error { wg.Wait(); return err }
}
