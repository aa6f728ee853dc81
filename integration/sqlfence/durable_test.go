package sqlfence_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/integration/mariatest"
	"github.com/etcdfence/etcdfence/integration/pgtest"
)

func TestMarkSurvivesReopen(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		s.mustWrite(t, token(t, 2).At(1))
		if err := s.db.Close(); err != nil {
			t.Fatal(err)
		}
		s.db = s.open(t)
		s.marks = s.resource(t, s.db, nil)
		wantRefused(t, s.write(t.Context(), s.marks, token(t, 1).At(1)), fence.ErrStale, token(t, 1).At(1), token(t, 2).At(1))
		s.wantState(t, token(t, 2).At(1), 2)
	})
}

// The server is killed while writers are at work. Every stamp that was reported as
// accepted is in the journal, the mark is the last line of it, and nothing older passes.
func TestMarkSurvivesKill(t *testing.T) {
	t.Run("postgres", func(t *testing.T) { killed(t, stores[0], pgtest.Start(t), "") })
	t.Run("mariadb", func(t *testing.T) { killed(t, stores[2], mariatest.Start(t), "?interpolateParams=true") })
}

// mortal is a server of either kind.
type mortal interface {
	Database(t testing.TB) string
	Kill(t testing.TB)
	Restart(t testing.TB)
}

func killed(t *testing.T, st store, server mortal, parameters string) {
	st.dsn = func(t *testing.T) string { return server.Database(t) + parameters }
	s := newSite(t, st)

	var mu sync.Mutex
	var accepted []fence.Stamp
	enough := make(chan struct{})
	var done sync.WaitGroup
	for w := range int64(4) {
		done.Go(func() {
			for i := int64(1); ; i++ {
				stamp := token(t, i*4+w).At(1)
				err := s.write(t.Context(), s.marks, stamp)
				switch {
				case err == nil:
					mu.Lock()
					if accepted = append(accepted, stamp); len(accepted) == 50 {
						close(enough)
					}
					mu.Unlock()
				case errors.Is(err, fence.ErrStale):
				default:
					return // the server is dead, or died in the middle
				}
			}
		})
	}
	gone := make(chan struct{})
	go func() {
		done.Wait()
		close(gone)
	}()
	select {
	case <-enough:
	case <-gone:
		t.Fatal("the writers gave up before the server was killed")
	}
	server.Kill(t)
	<-gone
	server.Restart(t)

	var last fence.Stamp
	for _, stamp := range accepted {
		n := s.number(t, "SELECT count(*) FROM journal WHERE revision = $1", stamp.Token().Revision())
		if n != 1 {
			t.Fatalf("%v was reported as accepted and is in the journal %d times", stamp, n)
		}
		if stamp.Compare(last) > 0 {
			last = stamp
		}
	}
	revision := s.number(t, "SELECT revision FROM journal ORDER BY n DESC LIMIT 1")
	mark := token(t, revision).At(1) // perhaps one newer than last: its answer died with the server
	s.wantState(t, mark, revision)
	if mark.Compare(last) < 0 {
		t.Fatalf("the mark is %v, but %v was accepted", mark, last)
	}
	old := token(t, 1).At(1)
	wantRefused(t, s.write(t.Context(), s.marks, old), fence.ErrStale, old, mark)
}
