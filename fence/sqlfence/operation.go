package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// Operation ids are kept for each lock. Both functions run after the entry, whose lock
// makes everybody else under this lock wait: no second row of one id can appear. In any
// order they do not wait, and the table's key keeps the second row out.

func (r *Resource) findOperation(ctx context.Context, tx *sql.Tx, s fence.Stamp, op *fence.Operation) error {
	var result []byte
	find := r.stmt["operation"]
	by, err := scanStamp(tx.QueryRowContext(ctx, find.text, find.args(s.Token().Lock(), op.ID())...), &result)
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
	record := r.stmt["record operation"]
	_, err := tx.ExecContext(ctx, record.text, record.args(append(stampArgs(s), op.ID(), result)...)...)
	if err != nil && r.dialect.duplicateKey(err) {
		// In any order both have found the id to be fresh; the later one is to look again.
		return fmt.Errorf("sqlfence: record the operation: %w: %w", fence.ErrContended, err)
	}
	return r.dialect.ours(ctx, "record the operation", err)
}
