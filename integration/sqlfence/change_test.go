package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

var errOwn = errors.New("the change's own error")

// R4. A change that fails leaves data and mark where they were, and its error comes
// back as it is.
func TestFailingChange(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		s.mustWrite(t, token(t, 1).At(1))
		stamp := token(t, 2).At(1)
		err := s.marks.Apply(t.Context(), stamp, func(ctx context.Context, tx *sql.Tx) error {
			if err := s.set(stamp, 2)(ctx, tx); err != nil {
				return err
			}
			return errOwn
		})
		if err != errOwn {
			t.Fatalf("got %v, want the change's own error unchanged", err)
		}
		s.wantState(t, token(t, 1).At(1), 1)
		s.mustWrite(t, stamp) // not consumed
	})
}

func TestPanickingChange(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		s.db.SetMaxOpenConns(1) // a connection that is not given back would block the rest
		stamp := token(t, 2).At(1)
		func() {
			defer func() {
				if got := recover(); got != errOwn {
					t.Fatalf("recovered %v, want the change's own panic", got)
				}
			}()
			_ = s.marks.Apply(t.Context(), stamp, func(ctx context.Context, tx *sql.Tx) error {
				if err := s.set(stamp, 2)(ctx, tx); err != nil {
					return err
				}
				panic(errOwn)
			})
		}()
		s.wantState(t, fence.Stamp{}, 0)
		s.mustWrite(t, stamp)
	})
}

// A change that swallows the error of a statement must not turn a transaction that the
// server aborted into a success. PostgreSQL answers such a COMMIT without an error.
func TestSwallowedError(t *testing.T) {
	s := newSite(t, stores[0])
	err := s.marks.Apply(t.Context(), token(t, 2).At(1), func(ctx context.Context, tx *sql.Tx) error {
		_, _ = tx.ExecContext(ctx, "SELECT 1/0")
		return nil
	})
	if err == nil || fence.SafeToRetry(err) {
		t.Fatalf("got %v, want a plain refusal", err)
	}
	s.wantState(t, fence.Stamp{}, 0)
}

// A constraint that is checked at COMMIT is the server's plain no: nothing is unknown.
func TestDeferredConstraint(t *testing.T) {
	onAllStores(t, func(t *testing.T, s *site) {
		if s.dialect == sqlfence.MySQL {
			return // has none
		}
		s.exec(t, "CREATE TABLE child (of text REFERENCES accounts(id) DEFERRABLE INITIALLY DEFERRED)")
		err := s.marks.Apply(t.Context(), token(t, 2).At(1), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO child VALUES ('nobody')")
			return err
		})
		if err == nil || fence.SafeToRetry(err) {
			t.Fatalf("got %v, want a plain refusal", err)
		}
		s.wantState(t, fence.Stamp{}, 0)
		s.mustWrite(t, token(t, 2).At(1))
	})
}

// A change that ends the transaction itself has left the contract: what happened is
// then unknown, and the same stamp again finds out.
func TestChangeCommitsItself(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		stamp := token(t, 2).At(1)
		err := s.marks.Apply(t.Context(), stamp, func(_ context.Context, tx *sql.Tx) error { return tx.Commit() })
		if !errors.Is(err, fence.ErrUnknownOutcome) {
			t.Fatalf("got %v, want %v", err, fence.ErrUnknownOutcome)
		}
		wantRefused(t, s.write(t.Context(), s.marks, stamp), fence.ErrReplayed, stamp, stamp)
	})
}

func TestCancelledContext(t *testing.T) {
	onAllStores(t, func(t *testing.T, s *site) {
		ctx, cancel := context.WithCancel(t.Context())
		stamp := token(t, 2).At(1)
		err := s.marks.Apply(ctx, stamp, func(ctx context.Context, tx *sql.Tx) error {
			err := s.set(stamp, 2)(ctx, tx)
			cancel()
			return err
		})
		if !errors.Is(err, context.Canceled) || fence.SafeToRetry(err) {
			t.Fatalf("cancelled before COMMIT: %v", err)
		}
		s.wantState(t, fence.Stamp{}, 0)
		for what, err := range map[string]error{
			"apply": s.write(ctx, s.marks, stamp),
			"claim": s.marks.Claim(ctx, stamp.Token()),
		} {
			if !errors.Is(err, context.Canceled) || fence.SafeToRetry(err) {
				t.Fatalf("%s: %v", what, err)
			}
		}
		if _, err := s.marks.Mark(ctx, lock); !errors.Is(err, context.Canceled) {
			t.Fatalf("mark: %v", err)
		}
		s.wantState(t, fence.Stamp{}, 0)
		s.mustWrite(t, stamp)
	})
}

func TestClosedDatabase(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		row := rows(t, s)
		s.db.Close()
		stamp := token(t, 2).At(1)
		_, markErr := s.marks.Mark(t.Context(), lock)
		for what, err := range map[string]error{
			"apply":  s.write(t.Context(), s.marks, stamp),
			"claim":  s.marks.Claim(t.Context(), stamp.Token()),
			"mark":   markErr,
			"in row": row.Update(t.Context(), s.db, stamp, "a", "value = 1"),
			"schema": s.marks.EnsureSchema(t.Context()),
		} {
			if err == nil || fence.SafeToRetry(err) {
				t.Errorf("%s: %v, want a plain error", what, err)
			}
		}
	})
}
