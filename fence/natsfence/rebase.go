package natsfence

import (
	"context"

	"github.com/etcdfence/etcdfence/fence"
)

// Rebase implements [fence.Rebaser]. From the zero Stamp it also gives a mark to a key that
// lost its own when it was deleted ([ErrDeleted]), and to data from before the fence
// ([ErrForeign]), which become the body.
func (r *Resource) Rebase(ctx context.Context, from, to fence.Stamp) error {
	edit, err := r.rules.Rebase(from, to)
	if err != nil {
		return err
	}
	return r.swap(ctx, false, edit)
}
