package etcdfence

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

const (
	watchGrace   = 200 * time.Millisecond // a hold shorter than this is never watched
	watchAgain   = 250 * time.Millisecond // pause after a watch or a check failed
	watchSingles = 32                     // so many holds have a watch of their own
	checkBatch   = 100                    // keys in one request; etcd's limit is 128 by default
)

// keyWatch tells holds, and waiters in the queue, that their own key was deleted.
// The first few have a watch of their own, which costs etcd nothing but their own
// events. Beyond those all share one watch over the range from the lowest to the
// highest of their keys, so that ten thousand holds need no more goroutines than
// a few dozen.
type keyWatch struct {
	a      *Adapter
	mu     sync.Mutex
	fresh  map[*Hold]time.Time // since when; not watched yet
	sweep  *time.Timer         // ends the grace of those; nil while there are none
	owner  map[*Hold]*keyGroup
	single int
	shared *keyGroup
}

func newKeyWatch(a *Adapter) *keyWatch {
	return &keyWatch{a: a, fresh: map[*Hold]time.Time{}, owner: map[*Hold]*keyGroup{}}
}

// keyGroup is one watch. The fields are guarded by keyWatch.mu.
type keyGroup struct {
	w         *keyWatch
	lo, hi    string // both are keys of the group
	members   map[string]*Hold
	unchecked []*Hold       // joined since the last check
	changed   chan struct{} // holds a value when there is something to look at
	single    bool
}

// expect has the key of h watched once it has outlived a short grace, so that short
// holds pay nothing for it. All share one timer: one for each would wake the
// scheduler with every acquisition.
func (w *keyWatch) expect(h *Hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h.base.Err() != nil {
		return
	}
	w.fresh[h] = time.Now()
	if w.sweep == nil {
		w.sweep = time.AfterFunc(watchGrace, w.endGrace)
	}
}

func (w *keyWatch) endGrace() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for h, since := range w.fresh {
		if time.Since(since) >= watchGrace {
			delete(w.fresh, h)
			w.add(h)
		}
	}
	w.sweep = nil
	if len(w.fresh) > 0 {
		w.sweep = time.AfterFunc(watchGrace, w.endGrace)
	}
}

// close stops the timer; the watches end with the adapter.
func (w *keyWatch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.fresh)
	if w.sweep != nil {
		w.sweep.Stop()
	}
}

func (w *keyWatch) add(h *Hold) {
	g := w.shared
	if w.single < watchSingles || g == nil {
		g = &keyGroup{w: w, lo: h.key, hi: h.key, members: map[string]*Hold{}, changed: make(chan struct{}, 1),
			single: w.single < watchSingles}
		if !w.a.spawn(g.run) {
			return
		}
		if g.single {
			w.single++
		} else {
			w.shared = g
		}
	}
	w.owner[h] = g
	g.members[h.key] = h
	g.unchecked = append(g.unchecked, h)
	g.lo, g.hi = min(g.lo, h.key), max(g.hi, h.key)
	g.notify()
}

func (w *keyWatch) drop(h *Hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.fresh, h)
	g := w.owner[h]
	if g == nil {
		return
	}
	delete(w.owner, h)
	if g.members[h.key] == h {
		delete(g.members, h.key)
	}
	if len(g.members) > 0 {
		return
	}
	if g.single {
		w.single--
	} else {
		w.shared = nil
	}
	g.notify() // nobody can find the group any more: it ends
}

func (g *keyGroup) notify() {
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// look returns the range to watch and whether anybody is left.
func (g *keyGroup) look() (lo, hi string, alive bool) {
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	return g.lo, g.hi, len(g.members) > 0
}

func (g *keyGroup) run() {
	for {
		lo, hi, alive := g.look()
		if !alive {
			return
		}
		ctx, cancel := context.WithCancel(g.w.a.ctx)
		opts := []clientv3.OpOption{clientv3.WithFilterPut(), clientv3.WithCreatedNotify()}
		if lo != hi {
			opts = append(opts, clientv3.WithRange(hi+"\x00"))
		}
		failed := g.follow(ctx, g.w.a.client.Watch(ctx, lo, opts...), lo, hi)
		cancel()
		if failed && !g.w.a.idle(g.w.a.ctx, watchAgain) || g.w.a.ctx.Err() != nil {
			return
		}
	}
}

// follow serves one watch until it fails, the range has grown or nobody is left.
func (g *keyGroup) follow(ctx context.Context, events clientv3.WatchChan, lo, hi string) (failed bool) {
	confirmed := false
	for {
		select {
		case resp, ok := <-events:
			if !ok || resp.Err() != nil {
				g.w.a.log.Debug("watch of own keys failed", zap.String("from", lo), zap.NamedError("cause", resp.Err()))
				g.recheck(ctx, g.everybody())
				return true
			}
			for _, ev := range resp.Events {
				g.deleted(string(ev.Kv.Key), ev.Kv.ModRevision)
			}
			if !confirmed && !g.recheck(ctx, g.everybody()) {
				return true
			}
			confirmed = true
		case <-g.changed:
			nlo, nhi, alive := g.look()
			if !alive || nlo < lo || nhi > hi {
				return false
			}
			if confirmed && !g.recheck(ctx, g.newcomers()) {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

// deleted ends the hold whose key was deleted at the given revision. A member of
// the cluster that lags may report the deletion of an earlier incarnation.
func (g *keyGroup) deleted(key string, at int64) {
	g.w.mu.Lock()
	h := g.members[key]
	g.w.mu.Unlock()
	if h != nil && at > h.revision.Load() {
		h.keyGone()
	}
}

func (g *keyGroup) everybody() []*Hold {
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	g.unchecked = nil
	all := make([]*Hold, 0, len(g.members))
	for _, h := range g.members {
		all = append(all, h)
	}
	return all
}

func (g *keyGroup) newcomers() []*Hold {
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	fresh := g.unchecked
	g.unchecked = nil
	return fresh
}

// recheck asks etcd for the keys of the holds and ends those whose key is gone or
// is another incarnation. The reads are linearizable.
func (g *keyGroup) recheck(ctx context.Context, holds []*Hold) bool {
	for len(holds) > 0 {
		batch := holds[:min(len(holds), checkBatch)]
		holds = holds[len(batch):]
		gets := make([]clientv3.Op, len(batch))
		for i, h := range batch {
			gets[i] = clientv3.OpGet(h.key)
		}
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		resp, err := g.w.a.client.Txn(ctx).Then(gets...).Commit()
		cancel()
		if err != nil {
			return false
		}
		for i, h := range batch {
			kvs := resp.Responses[i].GetResponseRange().Kvs
			if len(kvs) == 0 || kvs[0].CreateRevision != h.revision.Load() {
				h.keyGone()
			}
		}
	}
	return true
}
