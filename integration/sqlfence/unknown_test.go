package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
	"github.com/etcdfence/etcdfence/integration/mariatest"
	"github.com/etcdfence/etcdfence/integration/pgtest"
)

// losing is a proxy that can lose answers.
type losing interface {
	DSN(dsn string) string
	Lose(what string, n int)
	Lost() int
}

// far is the site's database seen through such a proxy.
func far(t *testing.T, s *site) (losing, *sql.DB) {
	t.Helper()
	var proxy losing
	if s.dialect == sqlfence.MySQL {
		proxy = mariatest.NewProxy(t, mariatest.Shared(t))
	} else {
		proxy = pgtest.NewProxy(t, pgtest.Shared(t))
	}
	return proxy, openDB(t, s.driver, proxy.DSN(s.dsn))
}

// updated is how the proxy knows the answer to the in-row statement.
func updated(s *site) string {
	if s.dialect == sqlfence.MySQL {
		return "UPDATE accounts"
	}
	return "UPDATE 1"
}

// T20. The answer to an applied COMMIT is dropped (pgx then reports an error on a
// committed transaction). The same stamp again tells the truth, and nothing is applied twice.
func TestLostCommitAnswer(t *testing.T) {
	onServers(t, func(t *testing.T, s *site) {
		proxy, db := far(t, s)
		marks := s.resource(t, db, nil)
		stamp := token(t, 5).At(1)
		add := func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE accounts SET value = value + 1 WHERE id = 'a'")
			return err
		}

		proxy.Lose("COMMIT", 1)
		err := marks.Apply(t.Context(), stamp, add)
		if !errors.Is(err, fence.ErrUnknownOutcome) || !fence.SafeToRetry(err) || errors.Is(err, fence.ErrContended) {
			t.Fatalf("got %v, want %v", err, fence.ErrUnknownOutcome)
		}
		if proxy.Lost() != 1 {
			t.Fatalf("%d answers lost, want 1", proxy.Lost())
		}
		wantRefused(t, marks.Apply(t.Context(), stamp, add), fence.ErrReplayed, stamp, stamp)
		s.wantState(t, stamp, 1)
	})
}

func TestLostClaimAnswer(t *testing.T) {
	onServers(t, func(t *testing.T, s *site) {
		proxy, db := far(t, s)
		marks := s.resource(t, db, nil)
		proxy.Lose("COMMIT", 1)
		if err := marks.Claim(t.Context(), token(t, 5)); !errors.Is(err, fence.ErrUnknownOutcome) {
			t.Fatalf("got %v, want %v", err, fence.ErrUnknownOutcome)
		}
		if err := marks.Claim(t.Context(), token(t, 5)); err != nil {
			t.Fatalf("claiming again: %v", err)
		}
		s.wantMark(t, token(t, 5).At(0))
	})
}

// Outside a transaction the statement is its own commit.
func TestLostInRowAnswer(t *testing.T) {
	onServers(t, func(t *testing.T, s *site) {
		row := rows(t, s)
		proxy, db := far(t, s)
		stamp := token(t, 5).At(1)
		proxy.Lose(updated(s), 1)
		err := row.Update(t.Context(), db, stamp, "a", s.sql("value = value + $1"), 1)
		if !errors.Is(err, fence.ErrUnknownOutcome) {
			t.Fatalf("got %v, want %v", err, fence.ErrUnknownOutcome)
		}
		err = row.Update(t.Context(), db, stamp, "a", s.sql("value = value + $1"), 1)
		wantRefused(t, err, fence.ErrReplayed, stamp, stamp)
		if got := s.value(t, "a"); got != 1 {
			t.Fatalf("the value is %d, want 1", got)
		}
		// Inside a transaction nothing is unknown before the commit.
		proxy.Lose(updated(s), 1)
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		err = row.Update(t.Context(), tx, token(t, 6).At(1), "a", s.sql("value = value + $1"), 1)
		if err == nil || fence.SafeToRetry(err) {
			t.Fatalf("got %v, want a plain error", err)
		}
	})
}

// A connection that breaks before COMMIT was sent leaves nothing behind and nothing unknown.
func TestBrokenBeforeCommit(t *testing.T) {
	onServers(t, func(t *testing.T, s *site) {
		err := s.marks.Apply(t.Context(), token(t, 5).At(1), func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "UPDATE accounts SET value = 9 WHERE id = 'a'"); err != nil {
				return err
			}
			suicide := "SELECT pg_terminate_backend(pg_backend_pid())"
			if s.dialect == sqlfence.MySQL {
				suicide = "KILL CONNECTION_ID()"
			}
			_, err := tx.ExecContext(ctx, suicide)
			return err
		})
		if err == nil || fence.SafeToRetry(err) {
			t.Fatalf("got %v, want the driver's own error", err)
		}
		s.wantState(t, fence.Stamp{}, 0)
	})
}

// The caller's own transaction gets the same words from Commit.
func TestLostAnswerOfOwnTransaction(t *testing.T) {
	onServers(t, func(t *testing.T, s *site) {
		proxy, db := far(t, s)
		marks := s.resource(t, db, nil)
		commit := func(r *sqlfence.Resource, stamp fence.Stamp) error {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if err := r.Admit(t.Context(), tx, stamp); err != nil {
				return err
			}
			return r.Commit(t.Context(), tx)
		}
		stamp := token(t, 5).At(1)
		proxy.Lose("COMMIT", 1)
		if err := commit(marks, stamp); !errors.Is(err, fence.ErrUnknownOutcome) {
			t.Fatalf("got %v, want %v", err, fence.ErrUnknownOutcome)
		}
		wantRefused(t, commit(marks, stamp), fence.ErrReplayed, stamp, stamp)
	})
}
