package etcdfence

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Watch is how the recipe waits for its predecessor's key to be deleted. The recipe
// asks for events from the revision of an earlier Get; the server counts such a
// watcher as behind and serves it from a loop that runs every 100 ms, which is
// where the hand-off time of a raw mutex goes. Here the watch starts at "now", and
// what happened before is found by one Get once the server has confirmed it.
//
// The Get must look at create revisions: the predecessor's session may have queued
// again, under the same key, behind us, and waiting for that one dead-locks.
func (f *front) Watch(ctx context.Context, key string, _ ...clientv3.OpOption) clientv3.WatchChan {
	events := f.Watcher.Watch(ctx, key, clientv3.WithFilterPut(), clientv3.WithCreatedNotify())
	select {
	case first, ok := <-events:
		if !ok || first.Err() != nil || len(first.Events) > 0 {
			return answered(first)
		}
	case <-ctx.Done():
		return answered(clientv3.WatchResponse{})
	}
	before := clientv3.WithMaxCreateRev(calling(ctx).h.revision.Load() - 1)
	resp, err := f.KV.Get(ctx, key, before, clientv3.WithKeysOnly())
	if err != nil || len(resp.Kvs) == 0 { // after an event the recipe looks again itself, and meets the error
		return answered(clientv3.WatchResponse{Events: []*clientv3.Event{{Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: []byte(key)}}}})
	}
	return events
}

// answered is a watch that has given its last response.
func answered(r clientv3.WatchResponse) clientv3.WatchChan {
	ch := make(chan clientv3.WatchResponse, 1)
	ch <- r
	close(ch)
	return ch
}
