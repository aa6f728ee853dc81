package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// Changes under two locks take two rows in opposite order.
func TestDeadlock(t *testing.T) {
	onServers(t, func(t *testing.T, s *site) {
		locks := []string{"a", "b"}
		for _, lock := range locks { // so that the loser's mark is seen to stay
			if err := s.marks.Claim(t.Context(), tokenOf(t, lock, 0, 1, "o")); err != nil {
				t.Fatal(err)
			}
		}
		touch := func(ctx context.Context, tx *sql.Tx, id string) error {
			_, err := tx.ExecContext(ctx, s.sql("UPDATE accounts SET value = value + 1 WHERE id = $1"), id)
			return err
		}
		met, both := make(chan struct{}, 2), make(chan struct{})
		answers := []chan error{make(chan error, 1), make(chan error, 1)}
		for i, lock := range locks {
			stamp := tokenOf(t, lock, 0, 1, "o").At(1)
			go func() {
				answers[i] <- s.marks.Apply(t.Context(), stamp, func(ctx context.Context, tx *sql.Tx) error {
					if err := touch(ctx, tx, lock); err != nil {
						return err
					}
					met <- struct{}{}
					<-both
					return touch(ctx, tx, locks[1-i])
				})
			}()
		}
		<-met
		<-met
		close(both)
		won := 0
		for i, lock := range locks {
			want, err := int64(0), <-answers[i]
			switch {
			case err == nil:
				won++
				want = 1
			case !errors.Is(err, fence.ErrContended):
				t.Errorf("%s: got %v, want %v", lock, err, fence.ErrContended)
			}
			if mark, err := s.marks.Mark(t.Context(), lock); err != nil || mark.Sequence() != want {
				t.Errorf("the mark of %s is %v (%v), want sequence %d", lock, mark, err, want)
			}
		}
		if won != 1 {
			t.Fatalf("%d of two have won", won)
		}
	})
}

func TestLockTimeout(t *testing.T) {
	onServers(t, func(t *testing.T, s *site) {
		short := map[sqlfence.Dialect]string{sqlfence.Postgres: " lock_timeout=10", sqlfence.MySQL: "&innodb_lock_wait_timeout=1"}
		impatient := s.resource(t, openDB(t, s.driver, s.dsn+short[s.dialect]), nil)
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
	})
}

// MariaDB above READ COMMITTED: whoever has read before Admit and was overtaken since is
// contended, never stale and never accepted; with innodb_snapshot_isolation (the default
// from 11.6) the server says so itself, with an error of its own.
func TestMariaDBReadBeforeAdmit(t *testing.T) {
	for name, setting := range map[string]string{"snapshot isolation": "&innodb_snapshot_isolation=1", "without": "&innodb_snapshot_isolation=0"} {
		t.Run(name, func(t *testing.T) {
			st := stores[2]
			st.dsn = mariaDSN("?interpolateParams=true" + setting)
			s := newSite(t, st)
			s.mustWrite(t, token(t, 1).At(1))
			for _, late := range []int64{2, 4} { // older and newer than the one that overtakes
				tx, err := s.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				var n int64
				if err := tx.QueryRowContext(t.Context(), "SELECT value FROM accounts WHERE id = 'a'").Scan(&n); err != nil {
					t.Fatal(err)
				}
				between := token(t, late+1).At(1)
				if late == 4 {
					between = token(t, 3).At(2)
				}
				s.mustWrite(t, between)
				err = s.marks.Admit(t.Context(), tx, token(t, late).At(1))
				newer := late == 4 && setting == "&innodb_snapshot_isolation=0"
				if newer && err == nil {
					continue // it is the newest. What it read before Admit is not protected: that is documented
				}
				if !errors.Is(err, fence.ErrContended) {
					t.Fatalf("%d after %v: got %v, want %v", late, between, err, fence.ErrContended)
				}
				if err := tx.Rollback(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
