package etcdtest

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Watcher returns a front for a Watcher: client.Watcher = faults.Watcher(client.Watcher).
//
// A rule about OpWatch speaks of the whole stream. FailBefore answers the
// rule's error (by default ErrCompacted) in a last response and closes the
// channel; ErrClosed closes it without a response. HoldRequest opens the watch
// when it is released. HoldReply opens it now and delivers when it is released.
// LoseReply drops the first response, and ends as FailBefore does.
//
// The error of a last response is one that etcd knows (package rpctypes), or
// only its text survives.
func (f *Faults) Watcher(w clientv3.Watcher) clientv3.Watcher {
	return &faultyWatcher{Watcher: w, f: f}
}

type faultyWatcher struct {
	clientv3.Watcher
	f *Faults
}

func (w *faultyWatcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	c := callOf(clientv3.OpGet(key, opts...), opts)
	c.Op = OpWatch
	t := w.f.note(c)
	if t == nil {
		return w.Watcher.Watch(ctx, key, opts...)
	}
	switch t.rule.Do {
	case Observe:
		t.fire()
		return w.Watcher.Watch(ctx, key, opts...)
	case FailBefore:
		t.fire()
		out := make(chan clientv3.WatchResponse, 1)
		lastWords(out, t.err(OpWatch))
		return out
	}

	ctx, cancel := context.WithCancel(ctx)
	out := make(chan clientv3.WatchResponse, 1)
	open := func() clientv3.WatchChan { return w.Watcher.Watch(ctx, key, opts...) }
	if t.rule.Do == HoldRequest {
		t.fire()
	} else {
		in := open()
		open = func() clientv3.WatchChan { return in }
		if t.rule.Do == HoldReply {
			t.fire()
		}
	}
	started := w.f.spawn(func() {
		defer cancel()
		w.relay(ctx, t, open, out)
	})
	if !started {
		cancel()
		close(out)
	}
	return out
}

// relay stands in the stream of a watch until it ends.
func (w *faultyWatcher) relay(ctx context.Context, t *Trap, open func() clientv3.WatchChan, out chan clientv3.WatchResponse) {
	if t.rule.Do != LoseReply && t.hold(ctx) != nil {
		close(out)
		return
	}
	in := open()
	for resp, ok := next(ctx, w.f, in); ok; resp, ok = next(ctx, w.f, in) {
		if t.rule.Do == LoseReply {
			t.fire()
			lastWords(out, t.err(OpWatch))
			return
		}
		select {
		case out <- resp:
		case <-ctx.Done():
		case <-w.f.done:
		}
	}
	close(out)
}

// lastWords ends a watch with an error. The channel has room for it.
func lastWords(out chan clientv3.WatchResponse, err error) {
	defer close(out)
	if errors.Is(err, ErrClosed) {
		return
	}
	resp := clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{}, Canceled: true, CancelReason: rpctypes.ErrorDesc(err)}
	if errors.Is(err, rpctypes.ErrCompacted) || rpctypes.ErrorDesc(err) == rpctypes.ErrorDesc(rpctypes.ErrCompacted) {
		resp.CompactRevision = 1
	}
	out <- resp
}
