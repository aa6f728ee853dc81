package etcdkv

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/fence"
)

// Unfenced makes a write as Apply does, in a Txn without an If.
func Unfenced(ctx context.Context, r *Resource, s fence.Stamp, change func(context.Context, *Tx) error) error {
	w := write{keys: r.keys, rel: newerHold, stamp: s, nonce: newNonce()}
	if err := r.stage(ctx, &w, change); err != nil {
		return err
	}
	_, err := w.txn(blind{r.client.Txn(ctx)}).Commit()
	return err
}

type blind struct{ clientv3.Txn }

func (b blind) If(...clientv3.Cmp) clientv3.Txn { return b.Txn }
