package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// Admit raises the mark to s inside the caller's own transaction, or refuses. Call it
// first, before the transaction reads or writes anything, and not inside a savepoint:
// what was read before it is not protected. The mark becomes visible with everything
// else when the transaction commits; end it with [Resource.Commit] to learn the result
// in the fence's words.
//
// With [Options.AnyOrder] it locks the mark against being raised, and raises it only to
// a newer token; in PostgreSQL the transaction must then be READ COMMITTED. Claim first:
// a transaction that has to raise the mark after all may end in a dead-lock with another
// such one.
//
// After any error roll back. Errors: [*fence.RefusedError] with both stamps,
// [fence.ErrContended] after which the whole transaction may be tried again with the
// same stamp, [ErrSchema], and the database's own. It does not look at an operation id
// in ctx; Apply does.
func (r *Resource) Admit(ctx context.Context, tx *sql.Tx, s fence.Stamp) error {
	if tx == nil {
		return errors.New("sqlfence: Admit needs a transaction, got nil")
	}
	if err := r.presentable(s); err != nil {
		return err
	}
	enter := r.raise
	if r.anyOrder {
		enter = r.share
	}
	// As transact does, but all in one transaction, since it is not ours to end.
	for range attempts {
		err := enter(ctx, tx, s)
		switch {
		case errors.Is(err, errNewer):
			enter = r.takeOver
		case errors.Is(err, errReached):
			enter = r.share
		case errors.Is(err, errUnseeded):
			if err := r.seed(ctx, tx, s.Token().Lock()); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return fmt.Errorf("sqlfence: admit: %w: the mark of %v comes and goes", fence.ErrContended, s)
}

// presentable is what can be said about a stamp without a mark.
func (r *Resource) presentable(s fence.Stamp) error {
	if s.IsZero() {
		return &fence.RefusedError{Lock: r.lock, Reason: fence.ErrNoToken}
	}
	if r.lock != "" {
		return fence.Judge(r.lock, fence.Stamp{}, s)
	}
	return nil
}

// raise is the entry of a write, unless in any order.
func (r *Resource) raise(ctx context.Context, tx *sql.Tx, s fence.Stamp) error {
	var mark fence.Stamp
	// Twice, for the race of two first stamps: the loser sees nothing to update, then
	// nothing to insert, and may still be the newer one.
	for range 2 {
		for _, step := range []string{"advance", "first"} {
			if r.stmt[step].text == "" {
				continue // a dialect without "first" has "seed"
			}
			raised, err := r.step(ctx, tx, step, s)
			if raised || err != nil {
				return err
			}
		}
		var err error
		if mark, err = r.read(ctx, tx, "mark", s.Token().Lock()); err != nil {
			return err
		}
		if mark.IsZero() && r.stmt["seed"].text != "" {
			return errUnseeded
		}
		err = fence.Judge(s.Token().Lock(), mark, s)
		if r.anyOrder && errors.Is(err, fence.ErrReplayed) {
			return errReached // somebody else of this hold came first
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("sqlfence: admit: %w: %v neither raised nor is refused by the mark, %v", fence.ErrContended, s, mark)
}

func (r *Resource) step(ctx context.Context, tx *sql.Tx, step string, s fence.Stamp) (bool, error) {
	n, err := r.count(ctx, tx, step, stampArgs(s)...)
	if n > 1 {
		return false, fmt.Errorf("%w: lock %q has %d marks; lock_name must be the primary key", ErrSchema, s.Token().Lock(), n)
	}
	return n == 1, err
}

// count runs a statement and returns how many rows it changed.
func (r *Resource) count(ctx context.Context, tx *sql.Tx, step string, values ...any) (int64, error) {
	stmt := r.stmt[step]
	result, err := tx.ExecContext(ctx, stmt.text, stmt.args(values...)...)
	if err != nil {
		return 0, r.dialect.ours(ctx, step, err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, uncounted(err)
	}
	return n, nil
}

// read reads a mark, and what its statement selects besides.
func (r *Resource) read(ctx context.Context, from queryer, name, lock string, more ...any) (fence.Stamp, error) {
	stmt := r.stmt[name]
	mark, err := scanStamp(from.QueryRowContext(ctx, stmt.text, stmt.args(lock)...), more...)
	if errors.Is(err, sql.ErrNoRows) {
		return fence.Stamp{}, nil
	}
	return mark, r.dialect.ours(ctx, "read the mark", err)
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// stampArgs are the parameters 1 to 5 of every statement.
func stampArgs(s fence.Stamp) []any {
	t := s.Token()
	return []any{t.Lock(), t.Owner(), t.Epoch(), t.Revision(), s.Sequence()}
}

// scanStamp reads the same five columns and what follows them. Columns that are NULL or
// zero, as in a row that was never fenced, are the zero Stamp.
func scanStamp(row interface{ Scan(...any) error }, more ...any) (fence.Stamp, error) {
	var lock, owner sql.NullString
	var epoch, revision, sequence sql.NullInt64
	if err := row.Scan(append([]any{&lock, &owner, &epoch, &revision, &sequence}, more...)...); err != nil {
		return fence.Stamp{}, err
	}
	if revision.Int64 == 0 {
		return fence.Stamp{}, nil
	}
	t, err := fence.NewToken(lock.String, epoch.Int64, revision.Int64, owner.String)
	if err == nil && sequence.Int64 < 0 {
		err = fmt.Errorf("%w: sequence %d is negative", fence.ErrBadToken, sequence.Int64)
	}
	if err != nil {
		// Somebody wrote into the columns by hand. Taking it for "no mark" would accept all.
		return fence.Stamp{}, fmt.Errorf("the stored mark is damaged: %w", err)
	}
	return t.At(sequence.Int64), nil
}
