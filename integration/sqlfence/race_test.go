package sqlfence_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// tally is what writers were told.
type tally struct {
	sync.Mutex
	accepted  map[fence.Stamp]int
	contended int
	refused   int
}

// T12. Writers present shuffled stamps and duplicates of them. Whatever the order, the
// accepted ones strictly rise, each is accepted once, and everybody is told the truth.
func TestShuffledStampsRise(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		shuffled(t, s, s.marks, 4, false)
	})
}

// The race for the very first mark is another code path: there is no row to wait for.
func TestFirstWriteRace(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		shuffled(t, s, s.marks, 12, true)
	})
}

func shuffled(t *testing.T, s *site, r *sqlfence.Resource, rounds int, start bool) {
	const writers, tokens = 8, 24
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	contended := 0
	for round := range rounds {
		s.exec(t, "DELETE FROM journal")
		base := int64(round * tokens)
		if start {
			s.exec(t, "DELETE FROM fence_marks")
		}
		var stamps []fence.Stamp
		for i := range int64(tokens) {
			stamp := token(t, base+1+i/3).At(i % 3) // three stamps of each generation
			stamps = append(stamps, stamp, stamp)
		}
		random.Shuffle(len(stamps), func(i, j int) { stamps[i], stamps[j] = stamps[j], stamps[i] })
		if start {
			stamps = stamps[:writers] // one each, all at once
		}
		told := s.race(t, r, writers, stamps)
		contended += told.contended
		s.checkJournal(t, told)
	}
	t.Logf("contended %d times", contended)
}

// race lets the writers take stamps from the list until it is empty.
func (s *site) race(t *testing.T, r *sqlfence.Resource, writers int, stamps []fence.Stamp) *tally {
	t.Helper()
	queue := make(chan fence.Stamp, len(stamps))
	for _, stamp := range stamps {
		queue <- stamp
	}
	close(queue)
	told := &tally{accepted: map[fence.Stamp]int{}}
	ready, done := make(chan struct{}), sync.WaitGroup{}
	for range writers {
		done.Go(func() {
			<-ready
			for stamp := range queue {
				n, err := insist(t.Context(), func() error { return s.write(t.Context(), r, stamp) })
				told.Lock()
				told.contended += n
				switch {
				case err == nil:
					told.accepted[stamp]++
				case errors.Is(err, fence.ErrStale), errors.Is(err, fence.ErrReplayed):
					told.refused++
				default:
					t.Errorf("%v: %v", stamp, err)
				}
				told.Unlock()
			}
		})
	}
	close(ready)
	done.Wait()
	return told
}

// checkJournal compares what writers were told with what the store did.
func (s *site) checkJournal(t *testing.T, told *tally) {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), "SELECT revision, sequence FROM journal ORDER BY n")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var last fence.Stamp
	lines := 0
	for ; rows.Next(); lines++ {
		var revision, sequence int64
		if err := rows.Scan(&revision, &sequence); err != nil {
			t.Fatal(err)
		}
		stamp := token(t, revision).At(sequence)
		if !last.IsZero() && stamp.Compare(last) <= 0 {
			t.Errorf("%v was accepted after %v", stamp, last)
		}
		if told.accepted[stamp] != 1 {
			t.Errorf("%v is in the journal, but %d writers were told so", stamp, told.accepted[stamp])
		}
		last = stamp
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if lines != len(told.accepted) || lines == 0 {
		t.Errorf("%d changes, but %d stamps were reported as accepted", lines, len(told.accepted))
	}
	s.wantState(t, last, last.Token().Revision())
}

// Equal revisions of two owners, all at once: one history wins, the other is a conflict
// for every one of its stamps, never stale and never accepted.
func TestTwoOwnersOfOneRevision(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		var mu sync.Mutex
		won := map[string]int{}
		var done sync.WaitGroup
		for i := range 12 {
			owner := []string{"left", "right"}[i%2]
			stamp := tokenOf(t, lock, 0, 7, owner).At(int64(i))
			done.Go(func() {
				_, err := insist(t.Context(), func() error { return s.write(t.Context(), s.marks, stamp) })
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won[owner]++
				case errors.Is(err, fence.ErrConflict), errors.Is(err, fence.ErrReplayed):
				default:
					t.Errorf("%v: %v", stamp, err)
				}
			})
		}
		done.Wait()
		if len(won) != 1 {
			t.Fatalf("accepted, by owner: %v; want one owner only", won)
		}
	})
}
