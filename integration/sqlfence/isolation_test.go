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

// Two transactions overlap on one mark. Where the database cannot decide at once the loser
// is contended, whether it is newer or older, and the same stamp again gets the true answer.
func TestIsolationLevels(t *testing.T) {
	levels := []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}
	for _, level := range levels {
		for _, second := range []int64{7, 5} {
			t.Run(fmt.Sprintf("%v/%d after 6", level, second), func(t *testing.T) {
				onServers(t, func(t *testing.T, s *site) { overlap(t, s, level, second) })
			})
		}
	}
}

func overlap(t *testing.T, s *site, level sql.IsolationLevel, second int64) {
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
	// MariaDB's UPDATE takes the row as it is at every level, as long as nothing was read.
	atOnce := s.dialect == sqlfence.MySQL || level == sql.LevelDefault || level == sql.LevelReadCommitted
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
	waiting := "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
	if s.dialect == sqlfence.MySQL {
		// Of the whole server, which the tests share one after another. The table of
		// transactions is brought up to date only for those who rarely ask.
		waiting = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'INNODB_ROW_LOCK_CURRENT_WAITS'"
	}
	eventually(t, "somebody waits for a lock", func() bool { return s.number(t, waiting) > 0 })
}

func TestShuffledStampsRiseAtEveryLevel(t *testing.T) {
	for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
		t.Run(level.String(), func(t *testing.T) {
			onServers(t, func(t *testing.T, s *site) {
				r := s.resource(t, s.db, &sqlfence.Options{Isolation: level})
				shuffled(t, s, r, 2, false)
				shuffled(t, s, r, 4, true)
			})
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
