package etcdfence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/etcdfence/etcdfence/fence"
)

// Adapter hands out holds on locks in etcd. It is safe for concurrent use; make
// one for each client and close it at the end.
type Adapter struct {
	client *clientv3.Client
	set    settings
	log    *zap.Logger

	turns  turns
	leases leases
	keys   *keyWatch

	// ctx ends when the adapter is closed; work counts what runs in the background.
	ctx    context.Context
	stop   context.CancelFunc
	mu     sync.Mutex // guards closed and work.Add
	closed bool
	work   sync.WaitGroup
	result error // of Close
	once   sync.Once
}

// New returns an adapter on the user's client, which stays the user's to close,
// after the adapter. It sends nothing: the lease is granted with the first
// acquisition. Its KV, Lease and Watcher must see the same keys: a client with a
// namespaced KV needs a namespaced Watcher too, or waiters never wake.
//
// It returns [ErrBadName] for a bad prefix or owner label, and an error that says
// so for a number out of range.
func New(client *clientv3.Client, opts *Options) (*Adapter, error) {
	if client == nil {
		return nil, errors.New("etcdfence: the client is nil")
	}
	set, err := opts.settle()
	if err != nil {
		return nil, err
	}
	a := &Adapter{client: client, set: set, log: set.log}
	a.keys = newKeyWatch(a)
	a.ctx, a.stop = context.WithCancel(context.Background())
	return a, nil
}

// Lock waits until it holds the named lock or ctx is done. ctx bounds the
// acquisition only; the hold lives on after it. Names are 1 to [fence.MaxLock]
// bytes of UTF-8 without control characters; every name is a lock of its own, also
// if it nests in another.
//
// Callers in one process queue locally and cost etcd one key in all. The call
// returns within ctx plus 250 ms, whatever etcd does; what it leaves behind is
// removed in the background.
//
// Errors: ctx's; [ErrLost] if the place in the queue was lost, after which calling
// again starts at the end of the queue; [ErrUnknownOutcome] if the reply to the
// request that makes the key was lost (the lock is not held, and is free for others
// within one TTL); [ErrForeignKey]; [ErrBadName]; [ErrClosed]; the client's, such
// as a missing permission.
func (a *Adapter) Lock(ctx context.Context, name string) (*Hold, error) {
	return a.acquire(ctx, name, a.label(), false)
}

// TryLock takes the named lock if nobody holds it or queues for it, and otherwise
// returns [ErrLocked] at once. If it could not take its own key out of the queue
// again the error matches [ErrUnknownOutcome] as well, and the adapter goes on
// removing it. Other errors are those of Lock.
func (a *Adapter) TryLock(ctx context.Context, name string) (*Hold, error) {
	return a.acquire(ctx, name, a.label(), true)
}

// acquire takes the named lock with a key that has the given value.
func (a *Adapter) acquire(ctx context.Context, name, value string, try bool) (*Hold, error) {
	prefix, err := a.set.keyPrefix(name)
	if err != nil {
		return nil, err
	}
	if a.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("etcdfence: acquiring %q: %w", name, err)
	}
	var leave func()
	if try {
		var free bool
		if leave, free = a.turns.try(name); !free {
			return nil, ErrLocked
		}
	} else if leave, err = a.turns.take(ctx, a.ctx, name); err != nil {
		return nil, fmt.Errorf("etcdfence: waiting for %q: %w", name, err)
	}
	for {
		l, err := a.live(ctx)
		if err != nil {
			leave()
			return nil, fmt.Errorf("etcdfence: acquiring %q: %w", name, err)
		}
		h := newHold(ctx, l, name, prefix, value, leave)
		if !l.join(h) {
			continue // it died just now; live makes another
		}
		err = h.acquire(ctx, try)
		switch {
		case err == nil:
			if line := a.log.Check(zap.DebugLevel, "acquired"); line != nil {
				line.Write(zap.String("lock", name), zap.Stringer("token", h.token), zap.String("owner", h.token.Owner()))
			}
			return h, nil
		case errors.Is(err, errNoLease):
			_ = h.quit() // no place in the queue is lost by it
			l.die(ErrLeaseGone)
		default:
			return nil, err
		}
	}
}

func newHold(ctx context.Context, l *lease, name, prefix, value string, leave func()) *Hold {
	h := &Hold{a: l.a, lease: l, lock: name, prefix: prefix, key: prefix + "/" + l.hex, value: value, leave: leave,
		settled: make(chan struct{})}
	h.base, h.end = context.WithCancelCause(context.WithoutCancel(ctx))
	return h
}

// errNoLease: the lease was found dead before the hold had a key of its own. The
// caller takes another lease. A create request that was under way can leave
// nothing: the dead lease is gone from etcd or about to be revoked, with its keys.
var errNoLease = errors.New("etcdfence: no lease")

// acquire runs the recipe. On every error but errNoLease it has seen to the key and
// the turn.
func (h *Hold) acquire(ctx context.Context, try bool) error {
	rctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.base, func() { cancel(context.Cause(h.base)) })()
	var r *recipe
	var mutex *concurrency.Mutex
	for {
		var mctx context.Context
		mctx, r, mutex = newMutex(rctx, h)
		lock := mutex.Lock
		if try {
			lock = mutex.TryLock
		}
		err := lock(mctx)
		if errors.Is(err, errLeftover) {
			if _, err = h.remove(rctx); err == nil {
				h.revision.Store(0)
				continue
			}
		}
		if err != nil && h.revision.Load() == 0 && ctx.Err() == nil && h.a.ctx.Err() == nil &&
			(errors.Is(err, rpctypes.ErrLeaseNotFound) || h.lease.ctx.Err() != nil) {
			return errNoLease
		}
		if err != nil {
			return h.fail(ctx, r, err)
		}
		break
	}
	token, err := h.mint(mutex)
	if err != nil {
		return h.fail(ctx, r, err)
	}
	if h.lease.expired() || !h.give(token) {
		return h.fail(ctx, r, context.Cause(h.base))
	}
	return nil
}

func (h *Hold) mint(mutex *concurrency.Mutex) (fence.Token, error) {
	revision := createRevision(mutex)
	if revision <= 0 || revision != h.revision.Load() {
		return fence.Token{}, errNoRevision
	}
	return fence.NewToken(h.lock, h.a.set.epoch, revision, h.lease.owner)
}

// quit ends a hold that was never given out, without touching its key.
func (h *Hold) quit() (cause error) {
	h.mu.Lock()
	cause = context.Cause(h.base)
	h.state = released
	h.end(ErrNotHeld)
	h.mu.Unlock()
	h.forget()
	return cause
}

// fail leaves the queue: it removes the key, as far as one may exist, gives the
// turn back as soon as that is certain, and returns the error for the caller.
func (h *Hold) fail(ctx context.Context, r *recipe, err error) error {
	lostCause := h.quit()
	unknown := r.doubt
	switch {
	case r.doubt || h.revision.Load() > 0:
		if derr := h.discard(ctx); errors.Is(derr, ErrUnknownOutcome) && errors.Is(err, concurrency.ErrLocked) {
			unknown = true
		}
	default:
		h.leave()
	}
	switch {
	case lostCause != nil:
		err = lostCause
	case r.foreign != nil:
		err = r.foreign
	case errors.Is(err, concurrency.ErrLocked):
		err = ErrLocked
	case errors.Is(err, concurrency.ErrSessionExpired):
		h.keyGone()
		cause := ErrKeyDeleted
		if h.lease.ctx.Err() != nil {
			cause = context.Cause(h.lease.ctx)
		}
		err = &LostError{Lock: h.lock, Cause: cause}
	default:
		err = fmt.Errorf("etcdfence: acquiring %q: %w", h.lock, err)
	}
	if unknown && !errors.Is(err, ErrUnknownOutcome) {
		err = fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return err
}

// Close ends every hold, revokes the lease and waits for everything that runs in
// the background. Holds end with the cause [ErrClosed]. If etcd cannot be reached
// it gives up after 3 s, or one TTL if that is less, and returns the error; the
// locks are then free after one TTL. Closing again returns the same.
func (a *Adapter) Close() error {
	a.once.Do(func() {
		a.mu.Lock()
		a.closed = true
		a.mu.Unlock()

		a.leases.mu.Lock()
		l := a.leases.current
		a.leases.mu.Unlock()
		if l != nil {
			alive := l.ctx.Err() == nil
			l.die(ErrClosed)
			if alive {
				ctx, cancel := context.WithTimeout(context.Background(), min(l.ttl, 3*time.Second))
				if err := l.revoke(ctx); err != nil {
					a.result = fmt.Errorf("etcdfence: closing: revoking the lease: %w", err)
				}
				cancel()
			}
		}
		a.stop()
		a.keys.close()
		a.work.Wait()
	})
	return a.result
}

// spawn runs f in the background unless the adapter is closed.
func (a *Adapter) spawn(f func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.work.Go(f)
	return true
}

// idle waits, unless ctx is done or the adapter closed before, and reports whether it did.
func (a *Adapter) idle(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-a.ctx.Done():
	}
	return false
}
