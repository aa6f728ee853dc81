package fence_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/etcdfence/etcdfence/fence"
)

// race presents every stamp from a goroutine of its own and returns the accepted
// ones in the order in which the resource let them in: the change itself takes the
// note, so the note is made inside the atomic step.
func race(t *testing.T, m *fence.Memory, stamps []fence.Stamp) (accepted []fence.Stamp, errs []error) {
	t.Helper()
	errs = make([]error, len(stamps))
	start := make(chan struct{})
	var all sync.WaitGroup
	for i, s := range stamps {
		all.Go(func() {
			<-start // a head start would put them in order
			errs[i] = m.Apply(context.Background(), s, func(_ context.Context, tx *fence.MemoryTx) error {
				accepted = append(accepted, s)
				tx.Put("last", s.String())
				return nil
			})
		})
	}
	close(start)
	all.Wait()
	return accepted, errs
}

// T12: shuffled tokens 1..N and duplicates of them, many rounds: what is accepted
// strictly rises, each stamp is accepted at most once, the largest always is, and
// data and mark are the last one's.
func TestMemoryRace(t *testing.T) {
	const n, rounds = 16, 200
	random := rand.New(rand.NewPCG(12, 12))
	for round := range rounds {
		var stamps []fence.Stamp
		for r := range int64(n) {
			s := token(t, 1+r/4).At(r % 4) // four writes of each hold
			stamps = append(stamps, s, s)
		}
		random.Shuffle(len(stamps), func(i, j int) { stamps[i], stamps[j] = stamps[j], stamps[i] })
		m := memory(t, "orders")
		accepted, errs := race(t, m, stamps)

		var mark fence.Stamp
		for _, s := range accepted {
			if s.Compare(mark) <= 0 {
				t.Fatalf("round %d: %v was accepted after %v", round, s, mark)
			}
			mark = s
		}
		if mark != token(t, n/4).At(3) {
			t.Fatalf("round %d: the last accepted is %v", round, mark)
		}
		mustHold(t, m, "orders", "last", mark.String(), mark)
		succeeded := 0
		for i, err := range errs {
			switch {
			case err == nil:
				succeeded++
			case !errors.Is(err, fence.ErrStale) && !errors.Is(err, fence.ErrReplayed):
				t.Fatalf("round %d: %v: %v", round, stamps[i], err)
			}
		}
		if succeeded != len(accepted) {
			t.Fatalf("round %d: %d were told yes, %d were let in", round, succeeded, len(accepted))
		}
	}
}

// T12: one revision, many owners: one of them is in, every other is a conflict.
func TestMemoryRaceOfOwners(t *testing.T) {
	for round := range 100 {
		var stamps []fence.Stamp
		for i := range int64(8) {
			stamps = append(stamps, mint(t, "orders", 0, 7, fmt.Sprint("owner-", i)).At(i))
		}
		m := memory(t, "orders")
		accepted, errs := race(t, m, stamps)
		if len(accepted) != 1 {
			t.Fatalf("round %d: %v were accepted", round, accepted)
		}
		for i, err := range errs {
			if stamps[i] == accepted[0] {
				mustBe(t, "the first", err, nil)
			} else {
				mustBe(t, "another owner", err, fence.ErrConflict)
			}
		}
		mustHold(t, m, "orders", "last", accepted[0].String(), accepted[0])
	}
}

// Claims race with writes: once a claim has returned, no older stamp gets in.
func TestMemoryRaceWithClaims(t *testing.T) {
	for range 100 {
		m, one, two := memory(t, "orders"), token(t, 1), token(t, 2)
		var all sync.WaitGroup
		for n := range int64(8) {
			all.Go(func() { _ = m.Apply(context.Background(), one.At(n+1), put("k", "old")) })
		}
		mustBe(t, "claim", m.Claim(context.Background(), two), nil)
		read, _, _ := m.Get(context.Background(), "k")
		all.Wait()
		mustHold(t, m, "orders", "k", read, two.At(0))
	}
}

// Who waits behind a slow change leaves when its context ends, not when the change
// does. The bubble of synctest ends only when every goroutine in it has.
func TestMemoryWaitHeedsTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, tok := memory(t, "orders"), token(t, 1)
		proceed := make(chan struct{})
		var slow sync.WaitGroup
		slow.Go(func() {
			if err := m.Apply(context.Background(), tok.At(1), func(context.Context, *fence.MemoryTx) error {
				<-proceed
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // the slow change is inside

		ctx, cancel := context.WithCancel(context.Background())
		calls := []func() error{
			func() error { return m.Apply(ctx, tok.At(2), put("k", "v")) },
			func() error { return m.Claim(ctx, token(t, 2)) },
			func() error { _, err := m.Mark(ctx, "orders"); return err },
			func() error { _, _, err := m.Get(ctx, "k"); return err },
		}
		errs := make(chan error, len(calls))
		for _, call := range calls {
			go func() { errs <- call() }()
		}
		synctest.Wait() // all of them wait behind it
		if len(errs) != 0 {
			t.Fatalf("somebody did not wait: %v", <-errs)
		}
		cancel()
		for range calls {
			mustBe(t, "waiting", <-errs, context.Canceled)
		}
		for _, call := range calls {
			mustBe(t, "arriving with an ended context", call(), context.Canceled)
		}
		close(proceed)
		slow.Wait()
		mustHold(t, m, "orders", "k", "", tok.At(1))
		for _, call := range calls { // also when nobody is inside
			mustBe(t, "arriving with an ended context", call(), context.Canceled)
		}
	})
}
