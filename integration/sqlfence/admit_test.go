package sqlfence_test

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

// Admit makes one transaction of the fence and of tables that it knows nothing about.
func TestAdmitInOwnTransaction(t *testing.T) {
	onAllStores(t, func(t *testing.T, s *site) {
		s.exec(t, "CREATE TABLE ledger (amount bigint)")
		transfer := func(stamp fence.Stamp, commit bool) error {
			tx, err := s.db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if err := s.marks.Admit(t.Context(), tx, stamp); err != nil {
				return err
			}
			for _, q := range []string{
				"UPDATE accounts SET value = value - 10 WHERE id = 'a'",
				"UPDATE accounts SET value = value + 10 WHERE id = 'b'",
				"INSERT INTO ledger VALUES (10)",
			} {
				if _, err := tx.ExecContext(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			if !commit {
				return tx.Rollback()
			}
			return s.marks.Commit(t.Context(), tx)
		}
		want := func(mark fence.Stamp, b, lines int64) {
			t.Helper()
			s.wantState(t, mark, -b)
			if got := s.value(t, "b"); got != b {
				t.Fatalf("b has %d, want %d", got, b)
			}
			if got := s.number(t, "SELECT count(*) FROM ledger"); got != lines {
				t.Fatalf("%d lines, want %d", got, lines)
			}
		}
		stamp := token(t, 5).At(1)
		if err := transfer(stamp, false); err != nil {
			t.Fatal(err)
		}
		want(fence.Stamp{}, 0, 0) // rolled back, not consumed
		if err := transfer(stamp, true); err != nil {
			t.Fatal(err)
		}
		want(stamp, 10, 1)
		wantRefused(t, transfer(stamp, true), fence.ErrReplayed, stamp, stamp)
		old := token(t, 4).At(1)
		wantRefused(t, transfer(old, true), fence.ErrStale, old, stamp)
		want(stamp, 10, 1)
	})
}

// A refusal says so and leaves the transaction usable, as a caller expects who wants to
// write down that it was refused.
func TestRefusedAdmitLeavesTransactionUsable(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		s.mustWrite(t, token(t, 5).At(1))
		tx, err := s.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		old := token(t, 4).At(1)
		wantRefused(t, s.marks.Admit(t.Context(), tx, old), fence.ErrStale, old, token(t, 5).At(1))
		if _, err := tx.ExecContext(t.Context(), "UPDATE accounts SET value = 1 WHERE id = 'b'"); err != nil {
			t.Fatal(err)
		}
		if err := s.marks.Commit(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
		s.wantMark(t, token(t, 5).At(1))
	})
}

func TestAdmitMisused(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		if err := s.marks.Admit(t.Context(), nil, token(t, 1).At(1)); err == nil {
			t.Fatal("a nil transaction was accepted")
		}
		tx, err := s.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := s.marks.Admit(t.Context(), tx, token(t, 1).At(1)); !errors.Is(err, sql.ErrTxDone) {
			t.Fatalf("a finished transaction: %v", err)
		}
		s.wantMark(t, fence.Stamp{})
	})
}

// A mark that somebody wrote by hand and wrongly must not count as "no mark yet".
func TestDamagedMark(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		s.mustWrite(t, token(t, 5).At(1))
		s.exec(t, "UPDATE fence_marks SET owner = ''")
		if err := s.write(t.Context(), s.marks, token(t, 4).At(1)); !errors.Is(err, fence.ErrBadToken) {
			t.Fatalf("an older stamp: %v", err)
		}
		if _, err := s.marks.Mark(t.Context(), lock); !errors.Is(err, fence.ErrBadToken) {
			t.Fatalf("mark: %v", err)
		}
		s.mustWrite(t, token(t, 6).At(1)) // the numbers still decide, and this mends it
	})
}
