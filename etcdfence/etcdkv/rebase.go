package etcdkv

import (
	"context"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// Rebase implements [fence.Rebaser]: it reads the mark, and replaces what it has read if
// that is still there. It does not ask whether a hold lasts. It returns [ErrDamaged]
// besides.
func (r *Resource) Rebase(ctx context.Context, from, to fence.Stamp) error {
	if err := fence.CheckRebase(r.guard, from, to); err != nil {
		return err
	}
	f, err := r.look(ctx, "", "")
	if err != nil {
		return err
	}
	moved := func(f found) error {
		return &fence.RefusedError{Lock: r.guard, Presented: from, Mark: f.mark, Reason: fence.ErrMoved}
	}
	if f.mark != from {
		return moved(f)
	}
	nonce := newNonce()
	resp, err := r.rebase(r.client.Txn(ctx), f.modified, to, nonce).Commit()
	if err != nil {
		return sent("rebase", err) // what the mark may be now, no rule says
	}
	if resp.Succeeded {
		return nil
	}
	if f, err = r.read(resp.Responses, "", ""); err != nil {
		return err
	}
	switch {
	case f.nonce == nonce:
		return nil // sent twice by the client
	case f.mark == from:
		return fmt.Errorf("etcdkv: rebase: %w: the mark came back to %v meanwhile", fence.ErrContended, from)
	}
	return moved(f)
}
