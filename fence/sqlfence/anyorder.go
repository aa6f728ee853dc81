package sqlfence

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

const readCommitted = "read committed"

// share is the entry of a write in any order: it holds the mark down to the end of the
// transaction, together with others, and only then compares. Whoever raises the mark
// waits for all of them, so no write of theirs can land behind a newer claim.
func (r *Resource) share(ctx context.Context, tx *sql.Tx, s fence.Stamp) error {
	lock, level := s.Token().Lock(), readCommitted
	var more []any
	if r.stmt["create share"].text != "" {
		more = append(more, &level)
	}
	mark, err := r.read(ctx, tx, "shared mark", lock, more...)
	if err != nil {
		return err
	}
	if level != readCommitted && level != "read uncommitted" { // the same in PostgreSQL
		return fmt.Errorf("sqlfence: a transaction in any order must be READ COMMITTED, not %s: it would compare with the mark as it was before it had waited", level)
	}
	if err := fence.JudgeAnyOrder(lock, mark, s); err != nil {
		return err
	}
	if mark.Token() != s.Token() {
		return errNewer
	}
	return nil
}

// takeOver is the entry of a claim. It waits for those who share the mark even if this
// resource is strict: others may not be.
func (r *Resource) takeOver(ctx context.Context, tx *sql.Tx, s fence.Stamp) error {
	if err := r.exclude(ctx, tx, s.Token().Lock()); err != nil {
		return err
	}
	return r.raise(ctx, tx, s)
}

// exclude waits for everybody who shares the mark. Where it is the mark's own row that
// they lock, "advance" does.
func (r *Resource) exclude(ctx context.Context, tx *sql.Tx, lock string) error {
	exclude := r.stmt["exclude"]
	if exclude.text == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, exclude.text, exclude.args(lock)...)
	return r.dialect.ours(ctx, "wait for the writers in any order", err)
}
