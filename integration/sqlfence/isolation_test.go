package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// Two transactions overlap on one mark. Only READ COMMITTED may decide at once; above
// it the loser is contended, whether it is newer or older, and the same stamp again gets
// the true answer.
func TestIsolationLevels(t *testing.T) {
	for _, level := range []sql.IsolationLevel{
		sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable,
	} {
		for _, second := range []int64{7, 5} {
			t.Run(fmt.Sprintf("%v/%d after 6", level, second), func(t *testing.T) {
				overlap(t, level, second)
			})
		}
	}
}

func overlap(t *testing.T, level sql.IsolationLevel, second int64) {
	s := newSite(t, stores[0])
	r := s.resource(t, s.db, &sqlfence.Options{Isolation: level})
	s.mustWrite(t, token(t, 1).At(1))

	inside, leave := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(leave) })
	defer release()
	first := make(chan error, 1)
	go func() {
		stamp := token(t, 6).At(1)
		first <- r.Apply(t.Context(), stamp, func(ctx context.Context, tx *sql.Tx) error {
			close(inside)
			<-leave
			return s.set(stamp, 6)(ctx, tx)
		})
	}()
	<-inside
	stamp := token(t, second).At(1)
	answer := make(chan error, 1)
	go func() { answer <- s.write(t.Context(), r, stamp) }()
	s.waitBlocked(t)
	release()
	if err := <-first; err != nil {
		t.Fatal(err)
	}

	err := <-answer
	atOnce := level == sql.LevelDefault || level == sql.LevelReadCommitted
	if errors.Is(err, fence.ErrContended) == atOnce {
		t.Fatalf("the overlapping stamp got %v", err)
	}
	if !atOnce {
		err = s.write(t.Context(), r, stamp)
	}
	if second > 6 {
		if err != nil {
			t.Fatal(err)
		}
		s.wantState(t, stamp, second)
		return
	}
	wantRefused(t, err, fence.ErrStale, stamp, token(t, 6).At(1))
	s.wantState(t, token(t, 6).At(1), 6)
}

// waitBlocked returns when somebody in this database waits for a lock.
func (s *site) waitBlocked(t *testing.T) {
	t.Helper()
	eventually(t, "somebody waits for a lock", func() bool {
		return s.number(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
	})
}

func TestShuffledStampsRiseAtEveryLevel(t *testing.T) {
	for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
		t.Run(level.String(), func(t *testing.T) {
			s := newSite(t, stores[0])
			r := s.resource(t, s.db, &sqlfence.Options{Isolation: level})
			shuffled(t, s, r, 2, false)
			shuffled(t, s, r, 4, true)
		})
	}
}

// Two holders of two locks write skew: each reads what the other writes. The
// serialisation failure comes at COMMIT only, and is contention there too.
func TestSerializationFailureAtCommit(t *testing.T) {
	s := newSite(t, stores[0])
	r := s.resource(t, s.db, &sqlfence.Options{Isolation: sql.LevelSerializable})
	skew := func(stamp fence.Stamp, read, write string, between func()) error {
		return r.Apply(t.Context(), stamp, func(ctx context.Context, tx *sql.Tx) error {
			var n int64
			if err := tx.QueryRowContext(ctx, "SELECT value FROM accounts WHERE id = $1", read).Scan(&n); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, "UPDATE accounts SET value = value + 1 WHERE id = $1", write)
			between()
			return err
		})
	}
	one, two := tokenOf(t, "one", 0, 1, "o").At(1), tokenOf(t, "two", 0, 1, "o").At(1)
	var inner error
	outer := skew(one, "a", "b", func() { inner = skew(two, "b", "a", func() {}) })
	if inner != nil {
		t.Fatal(inner)
	}
	if !errors.Is(outer, fence.ErrContended) {
		t.Fatalf("got %v, want %v", outer, fence.ErrContended)
	}
	s.wantMark(t, two)
	if mark, err := r.Mark(t.Context(), "one"); err != nil || !mark.IsZero() {
		t.Fatalf("the mark of the loser is %v (%v)", mark, err)
	}
	if _, err := insist(t.Context(), func() error { return skew(one, "a", "b", func() {}) }); err != nil {
		t.Fatal(err)
	}
}

// Changes under two locks take two rows in opposite order.
func TestDeadlock(t *testing.T) {
	s := newSite(t, stores[0])
	touch := func(ctx context.Context, tx *sql.Tx, id string) error {
		_, err := tx.ExecContext(ctx, "UPDATE accounts SET value = value + 1 WHERE id = $1", id)
		return err
	}
	met := make(chan struct{}, 2)
	answers := make(chan error, 2)
	both := make(chan struct{})
	for _, order := range [][2]string{{"a", "b"}, {"b", "a"}} {
		stamp := tokenOf(t, order[0], 0, 1, "o").At(1)
		go func() {
			answers <- s.marks.Apply(t.Context(), stamp, func(ctx context.Context, tx *sql.Tx) error {
				if err := touch(ctx, tx, order[0]); err != nil {
					return err
				}
				met <- struct{}{}
				<-both
				return touch(ctx, tx, order[1])
			})
		}()
	}
	<-met
	<-met
	close(both)
	err1, err2 := <-answers, <-answers
	if (err1 == nil) == (err2 == nil) || !errors.Is(errors.Join(err1, err2), fence.ErrContended) {
		t.Fatalf("got %v and %v; want one success and one %v", err1, err2, fence.ErrContended)
	}
	if n := s.number(t, "SELECT count(*) FROM fence_marks"); n != 1 {
		t.Fatalf("%d marks, want that of the winner only", n)
	}
}

func TestLockTimeout(t *testing.T) {
	s := newSite(t, stores[0])
	impatient := s.resource(t, openDB(t, s.driver, s.dsn+" lock_timeout=10"), nil)
	err := s.marks.Apply(t.Context(), token(t, 1).At(1), func(context.Context, *sql.Tx) error {
		if err := impatient.Claim(t.Context(), token(t, 2)); !errors.Is(err, fence.ErrContended) {
			t.Errorf("got %v, want %v", err, fence.ErrContended)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := impatient.Claim(t.Context(), token(t, 2)); err != nil {
		t.Fatal(err)
	}
}
