package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

func TestOperation(t *testing.T) {
	onAllStores(t, func(t *testing.T, s *site) {
		pay := func(stamp fence.Stamp, id, result string, own error) error {
			ctx := fence.WithOperation(t.Context(), id)
			return s.marks.Apply(ctx, stamp, func(ctx context.Context, tx *sql.Tx) error {
				if result != "" {
					fence.OperationFrom(ctx).SetResult([]byte(result))
				}
				if _, err := tx.ExecContext(ctx, "UPDATE accounts SET value = value + 1 WHERE id = 'a'"); err != nil {
					return err
				}
				return own
			})
		}
		duplicate := func(err error, by fence.Stamp, result string) {
			t.Helper()
			var dup *fence.DuplicateError
			if !errors.As(err, &dup) || dup.Stamp != by || string(dup.Result) != result {
				t.Fatalf("got %v, want a duplicate of %v with %q", err, by, result)
			}
		}
		first := token(t, 5).At(1)
		if err := pay(first, "invoice-1", "paid", errOwn); err != errOwn {
			t.Fatalf("failing change: %v", err)
		}
		if err := pay(first, "invoice-1", "paid", nil); err != nil {
			t.Fatalf("a failed attempt was recorded: %v", err)
		}
		s.wantState(t, first, 1)

		// A repeat, also by a later holder, is answered with what was recorded, and
		// consumes nothing.
		duplicate(pay(token(t, 5).At(2), "invoice-1", "again", nil), first, "paid")
		duplicate(pay(token(t, 6).At(1), "invoice-1", "again", nil), first, "paid")
		s.wantState(t, first, 1)

		// The fence comes first: a known id never lets an old token pass.
		wantRefused(t, pay(token(t, 4).At(1), "invoice-1", "", nil), fence.ErrStale, token(t, 4).At(1), first)
		wantRefused(t, pay(first, "invoice-2", "", nil), fence.ErrReplayed, first, first)

		second := token(t, 7).At(1)
		if err := pay(second, "invoice-2", "", nil); err != nil {
			t.Fatal(err)
		}
		duplicate(pay(token(t, 7).At(2), "invoice-2", "", nil), second, "")
		if err := pay(token(t, 7).At(2), "", "", nil); !errors.Is(err, fence.ErrBadOperation) {
			t.Fatalf("an empty id: %v", err)
		}
		s.wantState(t, second, 2)
	})
}
