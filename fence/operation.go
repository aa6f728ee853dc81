package fence

import (
	"bytes"
	"context"
)

// MaxOperation is the longest operation id, in bytes.
const MaxOperation = 200

// Operation is an idempotency key and the answer recorded for it. It is apart
// from the fence: a known id never lets an old token pass, and a fresh id never
// proves the right to write. An Operation belongs to one call; it must not be
// shared by concurrent ones.
type Operation struct {
	id     string
	result []byte
}

// ID is the operation id, chosen by the caller, unique for one intended effect
// and the same for every repeat of it, also by a later holder of the lock.
func (o *Operation) ID() string { return o.id }

// SetResult records what a repeat is answered with; an empty result is nil. Call
// it inside the change. Resources call it with nil before each run of the change,
// so that no answer of a failed attempt is left behind.
func (o *Operation) SetResult(result []byte) { o.result = append([]byte(nil), result...) }

// Result is a copy of what SetResult recorded, or nil.
func (o *Operation) Result() []byte { return bytes.Clone(o.result) }

// Check returns an [ErrBadOperation] that says what is wrong if the id is empty,
// longer than [MaxOperation] bytes, not UTF-8, or has control characters or U+FFFD.
// Resources call it before anything else.
func (o *Operation) Check() error {
	return checkName(ErrBadOperation, "operation id", o.id, MaxOperation)
}

type operationKey struct{}

// WithOperation returns a context in which a resource that can records id in the
// same atomic step as the change. A second change with the same id is not run but
// answered with [DuplicateError], provided its stamp passes the fence.
//
// The id names one change, so give it to the context of one Apply. A context that
// carries it around several changes has all but the first answered as duplicates.
func WithOperation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, operationKey{}, &Operation{id: id})
}

// OperationFrom returns the operation in ctx, or nil if there is none.
func OperationFrom(ctx context.Context) *Operation {
	o, _ := ctx.Value(operationKey{}).(*Operation)
	return o
}
