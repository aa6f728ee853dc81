package fence

import (
	"context"
	"fmt"
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

// SetResult records what a repeat is answered with. Call it inside the change.
func (o *Operation) SetResult(result []byte) { o.result = append([]byte(nil), result...) }

// Result is what SetResult recorded, or nil.
func (o *Operation) Result() []byte { return o.result }

// Check returns [ErrBadOperation] if the id is empty, longer than [MaxOperation]
// bytes, not UTF-8 or has control characters. Resources call it before they touch
// the store.
func (o *Operation) Check() error {
	if err := checkName("operation id", o.id, MaxOperation); err != nil {
		return fmt.Errorf("%w (%q)", ErrBadOperation, o.id)
	}
	return nil
}

type operationKey struct{}

// WithOperation returns a context in which a resource that can records id in the
// same atomic step as the change. A second change with the same id is not run but
// answered with [DuplicateError], provided its stamp passes the fence.
func WithOperation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, operationKey{}, &Operation{id: id})
}

// OperationFrom returns the operation in ctx, or nil if there is none.
func OperationFrom(ctx context.Context) *Operation {
	o, _ := ctx.Value(operationKey{}).(*Operation)
	return o
}
