package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// entry is the first step of a transaction: what lets a stamp pass, or refuses it.
type entry func(ctx context.Context, tx *sql.Tx, s fence.Stamp) error

// What an entry may say besides: this transaction is to end, and another one to begin.
var (
	errNewer    = errors.New("sqlfence: the mark is to be raised, and is only shared")
	errReached  = errors.New("sqlfence: the mark is of this token already, and can be shared")
	errUnseeded = errors.New("sqlfence: the lock has no row")
)

// attempts bounds how often a transaction begins anew. It takes three if nobody else is
// there: to find no row, to raise the mark in the new one, or to find it raised and share it.
const attempts = 5

// transact enters with first, works, and commits.
func (r *Resource) transact(ctx context.Context, s fence.Stamp, first entry, work func(*sql.Tx) error) error {
	if err := r.presentable(s); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqlfence: nothing was sent: %w", err)
	}
	enter := first
	for range attempts {
		err := r.once(ctx, func(tx *sql.Tx) error { return enter(ctx, tx, s) }, work)
		switch {
		case errors.Is(err, errNewer):
			enter = r.takeOver
		case errors.Is(err, errReached):
			enter = r.share
		case errors.Is(err, errUnseeded):
			if err := r.seed(ctx, r.db, s.Token().Lock()); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return fmt.Errorf("sqlfence: %w: the mark of %v comes and goes", fence.ErrContended, s)
}

// once runs one transaction.
func (r *Resource) once(ctx context.Context, enter, work func(*sql.Tx) error) error {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{Isolation: r.isolation})
	if err != nil {
		return r.dialect.failed(ctx, "begin", err)
	}
	// Does nothing after Commit. Deferred, so that it also runs when work panics.
	defer func() { _ = tx.Rollback() }()
	if err := enter(tx); err != nil {
		return err
	}
	if err := work(tx); err != nil {
		return err
	}
	return r.Commit(ctx, tx)
}

// seed makes the row of a lock in a dialect that wants it to be there before.
func (r *Resource) seed(ctx context.Context, on Queryer, lock string) error {
	// Where a table that lacks its key would take one row after another.
	if err := r.probe(ctx, on); err != nil {
		return err
	}
	seed := r.stmt["seed"]
	_, err := on.ExecContext(ctx, seed.text, seed.args(lock)...)
	return r.dialect.ours(ctx, "make the mark's row", err)
}
