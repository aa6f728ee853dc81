package etcdfence

import (
	"cmp"
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Leader is who leads an election, or holds a lock, as an onlooker sees it. It is
// news and never a permission: it may be outdated when it arrives. The zero Leader
// is nobody.
type Leader struct {
	Value string // as last proclaimed; for a lock the owner's label and since when it waited

	// Revision is the leader's generation, the Revision of its token: it rises with
	// every leader. The token itself is known to the leader only.
	Revision int64

	ModRevision int64            // rises with every proclamation of one leader
	Key         string           // in etcd; the same whenever the same lease leads
	Lease       clientv3.LeaseID // that the key hangs on
}

// Leader asks etcd who leads the named election. It costs one linearizable read and
// needs no lease. Errors: [ErrNoLeader] if nobody does; [ErrForeignKey] if a key
// that no recipe made stands in front; [ErrBadName]; [ErrClosed]; ctx's; the client's.
func (a *Adapter) Leader(ctx context.Context, name string) (Leader, error) {
	prefix, err := a.set.keyPrefix(name)
	if err != nil {
		return Leader{}, err
	}
	if a.ctx.Err() != nil {
		return Leader{}, ErrClosed
	}
	resp, err := a.client.Get(ctx, prefix+"/", clientv3.WithFirstCreate()...)
	if err != nil {
		return Leader{}, fmt.Errorf("etcdfence: looking for the leader of %q: %w", name, err)
	}
	return newQueue(name, prefix, resp).leader()
}

// queue is a replica of the keys under a lock's prefix, as of a revision.
type queue struct {
	name, prefix string
	revision     int64
	keys         map[string]*mvccpb.KeyValue
}

func newQueue(name, prefix string, resp *clientv3.GetResponse) *queue {
	q := &queue{name: name, prefix: prefix, revision: resp.Header.Revision, keys: map[string]*mvccpb.KeyValue{}}
	for _, kv := range resp.Kvs {
		q.keys[string(kv.Key)] = kv
	}
	return q
}

func (q *queue) apply(ev *clientv3.Event) {
	if ev.Type == mvccpb.Event_DELETE {
		delete(q.keys, string(ev.Kv.Key))
	} else {
		q.keys[string(ev.Kv.Key)] = ev.Kv
	}
	q.revision = ev.Kv.ModRevision
}

// leader is the owner of the oldest key.
func (q *queue) leader() (Leader, error) {
	var first *mvccpb.KeyValue
	for _, kv := range q.keys {
		if first == nil || cmp.Or(cmp.Compare(kv.CreateRevision, first.CreateRevision), cmp.Compare(string(kv.Key), string(first.Key))) < 0 {
			first = kv
		}
	}
	switch {
	case first == nil:
		return Leader{}, fmt.Errorf("%w: %q", ErrNoLeader, q.name)
	case !madeByRecipe(q.prefix, first):
		return Leader{}, &ForeignKeyError{Lock: q.name, Key: string(first.Key)}
	}
	return Leader{Value: string(first.Value), Revision: first.CreateRevision, ModRevision: first.ModRevision,
		Key: string(first.Key), Lease: clientv3.LeaseID(first.Lease)}, nil
}

// differs reports whether other has other keys, or other values.
func (q *queue) differs(other *queue) bool {
	if len(q.keys) != len(other.keys) {
		return true
	}
	for key, kv := range q.keys {
		if o := other.keys[key]; o == nil || o.ModRevision != kv.ModRevision {
			return true
		}
	}
	return false
}
