package sqlfence

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// Rebase implements [fence.Rebaser] with one statement that is guarded by the mark that
// was named. It returns [ErrSchema] besides.
func (r *Resource) Rebase(ctx context.Context, from, to fence.Stamp) error {
	guard := r.lock
	if guard == "" && !to.IsZero() {
		guard = to.Token().Lock()
	}
	if err := fence.CheckRebase(guard, from, to); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqlfence: nothing was sent: %w", err)
	}
	step, values := "rebase", append(stampArgs(to), stampArgs(from)[1:]...)
	if from.IsZero() {
		if r.stmt["seed"].text == "" {
			step, values = "first", stampArgs(to)
		} else if err := r.seed(ctx, r.db, guard); err != nil {
			return err
		}
	}
	enter := func(tx *sql.Tx) error { return r.exclude(ctx, tx, guard) }
	return r.once(ctx, enter, func(tx *sql.Tx) error {
		n, err := r.count(ctx, tx, step, values...)
		if err != nil || n > 0 {
			return err
		}
		mark, err := r.read(ctx, tx, "mark", guard)
		if err != nil {
			return err
		}
		return moved(guard, from, to, mark)
	})
}

// moved says why a rebase has changed no row.
func moved(guard string, from, to, mark fence.Stamp) error {
	switch mark {
	case from:
		if from == to {
			return nil // MySQL does not count a row that stays as it is
		}
		return fmt.Errorf("sqlfence: rebase: %w: the mark came back to %v meanwhile", fence.ErrContended, from)
	default:
		return &fence.RefusedError{Lock: guard, Presented: from, Mark: mark, Reason: fence.ErrMoved}
	}
}

// Rebase sets the row's mark to the stamp to, if and only if it is from at that moment,
// and changes nothing else, as [fence.Rebaser] does for a [Resource]. Errors: those of
// [fence.Rebaser] except [fence.ErrWrongLock], [ErrNoRow], [ErrSchema].
func (r *InRow) Rebase(ctx context.Context, on Queryer, from, to fence.Stamp, key any) error {
	guard := ""
	if !to.IsZero() {
		guard = to.Token().Lock()
	}
	if err := fence.CheckRebase(guard, from, to); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqlfence: nothing was sent: %w", err)
	}
	found := []any{"", "", int64(0), int64(0), int64(0)} // a zero mark, not NULLs that match nothing
	if !from.IsZero() {
		found = stampArgs(from)
	}
	values := append(append(stampArgs(to), found...), key)
	update := r.dialect.statement("UPDATE " + r.table + " SET " + r.stmt["row set"] +
		" WHERE " + renumber(6, r.stmt["row is"]) + " AND " + renumber(11, r.stmt["row key"]))
	result, err := on.ExecContext(ctx, update.text, update.args(values...)...)
	if err != nil {
		return r.failed(ctx, on, err)
	}
	n, err := result.RowsAffected()
	switch {
	case err != nil:
		return uncounted(err)
	case n > 1:
		return r.notUnique(n, key)
	case n == 1:
		return nil
	}
	mark, err := r.Mark(ctx, on, key)
	if err != nil {
		return err
	}
	return moved(guard, from, to, mark)
}
