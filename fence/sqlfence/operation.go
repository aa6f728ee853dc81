package sqlfence

import (
	"context"
	"database/sql"
	"errors"

	"github.com/etcdfence/etcdfence/fence"
)

// Operation ids are kept for each lock. Both functions run after Admit, whose row lock
// makes everybody else under this lock wait: no second row of one id can appear.

func (r *Resource) findOperation(ctx context.Context, tx *sql.Tx, s fence.Stamp, op *fence.Operation) error {
	var result []byte
	by, err := scanStamp(tx.QueryRowContext(ctx, r.stmt["operation"], s.Token().Lock(), op.ID()), &result)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return r.dialect.ours(ctx, "look up the operation", err)
	}
	return &fence.DuplicateError{Operation: op.ID(), Stamp: by, Result: result}
}

func (r *Resource) recordOperation(ctx context.Context, tx *sql.Tx, s fence.Stamp, op *fence.Operation) error {
	var result any // NULL, not an empty value, if the change recorded nothing
	if op.Result() != nil {
		result = op.Result()
	}
	args := append(stampArgs(s), op.ID(), result)
	_, err := tx.ExecContext(ctx, r.stmt["record operation"], args...)
	return r.dialect.ours(ctx, "record the operation", err)
}
