package natsfence

import (
	"context"

	"github.com/etcdfence/etcdfence/fence"
)

// Rebase implements [fence.Rebaser]. From the zero Stamp it also gives a mark to a key that
// lost its own when it was deleted ([ErrDeleted]), and to data from before the fence
// ([ErrForeign]), which become the body.
func (r *Resource) Rebase(ctx context.Context, from, to fence.Stamp) error {
	if err := fence.CheckRebase(r.lock, from, to); err != nil {
		return err
	}
	return r.swap(ctx, false, func(found entry) (value, error) {
		if found.err != nil && from.IsZero() {
			return value{mark: to, body: found.raw}, nil
		}
		if err := r.ours(found, to); err != nil {
			return value{}, err
		}
		if found.mark != from {
			return value{}, &fence.RefusedError{Lock: r.lock, Presented: from, Mark: found.mark, Reason: fence.ErrMoved}
		}
		next := found.value
		next.mark = to
		return next, nil
	})
}
