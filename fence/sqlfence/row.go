package sqlfence

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// Row is the in-row form of one row as a [fence.FencedResource], to be bound to a hold.
// It is like fence's memory.go, but atomic by one conditional UPDATE. Make one with
// [InRow.Row]. It is safe for concurrent use if what it runs on is.
type Row struct {
	form *InRow
	on   Queryer
	lock string
	key  any
}

var (
	_ fence.FencedResource[*RowChange] = (*Row)(nil)
	_ fence.Rebaser                    = (*Row)(nil)
)

// Row returns the row with the key, guarded by the named lock. on is a *sql.DB as a
// rule; in a *sql.Tx nothing is accepted before its commit. It returns
// [fence.ErrBadToken] for a name that cannot be a lock, and does not look for the row.
func (r *InRow) Row(on Queryer, lock string, key any) (*Row, error) {
	if err := fence.CheckLock(lock); err != nil {
		return nil, err
	}
	return &Row{form: r, on: on, lock: lock, key: key}, nil
}

// RowChange is what a change to a [Row] works on.
type RowChange struct {
	set  string
	args []any
}

// Set gives what follows SET in an UPDATE of the row, with parameters as the database
// has them, numbered from 1, and their values. To call it again replaces it; not to call
// it raises the mark alone.
func (c *RowChange) Set(assignments string, args ...any) { c.set, c.args = assignments, args }

// Apply implements [fence.FencedResource] with [InRow.Update] and returns its errors.
// change runs before the row is looked at, also for a stamp that is then refused. The
// in-row form records no operation ids; Apply returns an error if ctx carries one.
func (r *Row) Apply(ctx context.Context, s fence.Stamp, change func(ctx context.Context, tx *RowChange) error) error {
	if fence.OperationFrom(ctx) != nil {
		return errNoOperations
	}
	if err := fence.Judge(r.lock, fence.Stamp{}, s); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqlfence: nothing was sent: %w", err)
	}
	var c RowChange
	if err := change(ctx, &c); err != nil {
		return err
	}
	return r.form.Update(ctx, r.on, s, r.key, c.set, c.args...)
}

// Claim implements [fence.FencedResource] with [InRow.Claim] and returns its errors.
func (r *Row) Claim(ctx context.Context, t fence.Token) error {
	if err := fence.Judge(r.lock, fence.Stamp{}, t.At(0)); err != nil {
		return err
	}
	return r.form.Claim(ctx, r.on, t, r.key)
}

// Mark implements [fence.FencedResource]. It returns [ErrNoRow] if there is no such row,
// [fence.ErrWrongLock] for another lock, and [fence.ErrBadToken] for a name that cannot
// be one.
func (r *Row) Mark(ctx context.Context, lock string) (fence.Stamp, error) {
	if err := fence.CheckLock(lock); err != nil {
		return fence.Stamp{}, err
	}
	if lock != r.lock {
		return fence.Stamp{}, &fence.RefusedError{Lock: r.lock, Reason: fence.ErrWrongLock}
	}
	return r.form.Mark(ctx, r.on, r.key)
}

// Rebase implements [fence.Rebaser] with [InRow.Rebase] and returns its errors.
func (r *Row) Rebase(ctx context.Context, from, to fence.Stamp) error {
	if err := fence.CheckRebase(r.lock, from, to); err != nil {
		return err
	}
	return r.form.Rebase(ctx, r.on, from, to, r.key)
}

var errNoOperations = errors.New("sqlfence: the in-row form records no operation ids: use a Resource")
