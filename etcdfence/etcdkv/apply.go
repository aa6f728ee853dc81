package etcdkv

import (
	"context"
	"fmt"
	"net/url"

	"github.com/etcdfence/etcdfence/fence"
)

// attempts bounds how often one call sends a write. It takes three to learn the relation
// of the stamp to a mark that others move; what was read may move more often.
const attempts = 10

// Apply implements [fence.FencedResource] with one Txn, and one round trip for every write
// of a hold that has claimed. One more comes before it if the context carries an operation
// id, one for the first write of a hold that has not claimed, and one for each key that the
// change reads.
//
// change runs before the fence is asked, so it may run for a stamp that is refused then,
// and again if a key that it has read was changed meanwhile. Its error comes back as it is.
//
// Errors besides those of [fence.FencedResource]: [ErrOver], [ErrTooLarge], [ErrBadKey],
// [ErrDamaged]. [fence.ErrContended] means that the keys that change reads are changed all
// the time by others.
func (r *Resource) Apply(ctx context.Context, s fence.Stamp, change func(ctx context.Context, tx *Tx) error) error {
	op := fence.OperationFrom(ctx)
	if op != nil {
		if err := op.Check(); err != nil {
			return err
		}
	}
	lockKey, err := r.presentable(ctx, s)
	if err != nil {
		return err
	}
	w := write{keys: r.keys, rel: sameHold, stamp: s, nonce: newNonce(), lockKey: lockKey, op: op, anyOrder: r.anyOrder}
	if op != nil {
		// Before the change runs, because a known operation must not run again.
		w.operation = r.operations + url.PathEscape(op.ID())
		f, err := r.look(ctx, w.lockKey, w.operation)
		if err != nil {
			return err
		}
		if err := r.forbids(f, w); err != nil {
			return err
		}
		w.rel = relationTo(f.mark, s)
	}
	for range attempts {
		if w.tx == nil {
			if err := r.stage(ctx, &w, change); err != nil {
				return err
			}
		}
		done, f, err := r.send(ctx, w)
		if done || err != nil {
			return err
		}
		if err := r.forbids(f, w); err != nil {
			return err
		}
		if rel := relationTo(f.mark, s); rel != w.rel {
			w.rel = rel // the guess was wrong
		} else {
			w.tx = nil // a key that the change has read was changed
		}
	}
	return fmt.Errorf("etcdkv: %w: what the change of %v reads, or the mark, has changed %d times", fence.ErrContended, s, attempts)
}

// stage runs the change.
func (r *Resource) stage(ctx context.Context, w *write, change func(context.Context, *Tx) error) error {
	tx := &Tx{kv: r.client, prefix: r.data, writes: map[string]*string{}, reads: map[string]readKey{}}
	if w.op != nil {
		w.op.SetResult(nil) // an earlier attempt that failed must not leave its answer behind
	}
	if err := change(ctx, tx); err != nil {
		return err
	}
	w.tx = tx
	return tx.err
}

// send sends a write. If it was neither done nor failed it returns the facts.
func (r *Resource) send(ctx context.Context, w write) (done bool, f found, err error) {
	if err := r.ready(ctx); err != nil {
		return false, f, err
	}
	resp, err := w.txn(r.client.Txn(ctx)).Commit()
	if err != nil {
		err = r.settle(ctx, w.stamp, w.nonce, "write", err)
		return err == nil, f, err
	}
	if resp.Succeeded {
		return true, f, nil
	}
	f, err = r.read(resp.Responses, w.lockKey, w.operation)
	// Refused by itself: the client has sent it twice, and the first one was applied.
	return err == nil && f.nonce == w.nonce, f, err
}

// forbids is nil if a write can be accepted.
func (r *Resource) forbids(f found, w write) error {
	rule := fence.Judge
	if w.anyOrder {
		rule = fence.JudgeAnyOrder
	}
	if err := r.refused(f, w.stamp, w.lockKey, rule); err != nil {
		return err
	}
	if f.operation != nil {
		return &fence.DuplicateError{Operation: w.op.ID(), Stamp: f.operation.stamp, Result: f.operation.result}
	}
	return nil
}
