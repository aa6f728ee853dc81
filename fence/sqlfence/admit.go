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
	lock := s.Token().Lock()
	var mark fence.Stamp
	// Twice, for the race of two first stamps: the loser sees nothing to update, then
	// nothing to insert, and may still be the newer one.
	for range 2 {
		for _, step := range []string{"advance", "first"} {
			raised, err := r.raise(ctx, tx, step, s)
			if raised || err != nil {
				return err
			}
		}
		var err error
		if mark, err = r.read(ctx, tx, lock); err != nil {
			return err
		}
		if err := fence.Judge(lock, mark, s); err != nil {
			return err
		}
	}
	return fmt.Errorf("sqlfence: admit: %w: %v neither raised nor is refused by the mark, %v", fence.ErrContended, s, mark)
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

func (r *Resource) raise(ctx context.Context, tx *sql.Tx, step string, s fence.Stamp) (bool, error) {
	result, err := tx.ExecContext(ctx, r.stmt[step], stampArgs(s)...)
	if err != nil {
		return false, r.dialect.ours(ctx, "admit", err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("sqlfence: the driver does not count rows, without which nothing can be fenced: %w", err)
	}
	if n > 1 {
		return false, fmt.Errorf("%w: lock %q has %d marks; lock_name must be the primary key", ErrSchema, s.Token().Lock(), n)
	}
	return n == 1, nil
}

func (r *Resource) read(ctx context.Context, from queryer, lock string) (fence.Stamp, error) {
	mark, err := scanStamp(from.QueryRowContext(ctx, r.stmt["mark"], lock))
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
func scanStamp(row *sql.Row, more ...any) (fence.Stamp, error) {
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
