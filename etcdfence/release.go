package etcdfence

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// removeGrace is how long a request that cleans up may outlive the caller's
// context; the rest of returnGrace is for getting back.
const removeGrace = 200 * time.Millisecond

var errReleased = fmt.Errorf("%w: released", ErrNotHeld)

// Release gives the lock back and ends the hold. It returns nil once the key is
// gone by this call; [ErrNotHeld] if the hold was over before or its lease ended
// first, and then nobody else's hold was touched; [ErrUnknownOutcome] if etcd did not
// answer, and then the adapter goes on until it is certain or the lease is gone.
//
// It returns within ctx plus 250 ms, also if ctx is done already (then it still
// tries), and never outlives the lease. Releasing again is fine: it returns the
// same result, or waits for it.
func (h *Hold) Release(ctx context.Context) error {
	h.mu.Lock()
	before := h.state
	if before != released {
		h.state = released
		h.end(errReleased)
	}
	gone := h.gone
	h.mu.Unlock()
	if before == released {
		return h.awaitRemoval(ctx)
	}
	h.forget()
	if gone {
		return h.settle(fmt.Errorf("%w: %v was lost before its release", ErrNotHeld, h.token))
	}
	if line := h.a.log.Check(zap.DebugLevel, "releasing"); line != nil {
		line.Write(zap.String("lock", h.lock), zap.Stringer("token", h.token))
	}
	return h.discard(ctx)
}

// releaseAfter is the release of a function that cannot return its error.
func (h *Hold) releaseAfter(ctx context.Context, what string) {
	if err := h.Release(ctx); err != nil && !errors.Is(err, ErrNotHeld) { // a loss has been logged
		h.a.log.Warn("release after "+what, zap.String("lock", h.lock), zap.Stringer("token", h.token), zap.NamedError("cause", err))
	}
}

// discard removes the key and then gives the local turn back. It tries within ctx
// and a grace; if that leaves a doubt it goes on in the background, and the name
// stays closed locally, for a second key of this name under this lease would be
// the same key.
func (h *Hold) discard(ctx context.Context) error {
	rctx, cancel := h.removalContext(ctx)
	deleted, err := h.remove(rctx)
	cancel()
	if err == nil {
		return h.settle(h.removal(deleted))
	}
	if h.lease.ctx.Err() != nil {
		return h.settle(h.leaseEnded())
	}
	if !h.a.spawn(h.removeForCertain) {
		return h.settle(ErrClosed) // Close revokes the lease, and the key goes with it
	}
	return fmt.Errorf("etcdfence: removing the key of %q: %w: %w", h.lock, ErrUnknownOutcome, err)
}

// remove deletes the key if it is still the one that this hold made. The guard is
// what makes a late release harmless: the next hold of this lease has the same key,
// and deleting by name would free it (etcd issue 22082). While the create revision
// is unknown, any key of this name under this lease is this hold's, since the local
// turn is not given back before.
func (h *Hold) remove(ctx context.Context) (deleted bool, err error) {
	guard := clientv3.Compare(clientv3.CreateRevision(h.key), "=", h.revision.Load())
	if h.revision.Load() == 0 {
		guard = clientv3.Compare(clientv3.CreateRevision(h.key), ">", 0)
	}
	resp, err := h.a.client.Txn(ctx).If(guard).Then(clientv3.OpDelete(h.key)).Commit()
	if err != nil {
		return false, err
	}
	return resp.Succeeded, nil
}

// leaseEnded is the result of a removal that the end of the lease made needless.
func (h *Hold) leaseEnded() error {
	return fmt.Errorf("%w: the lease ended before the key of %q was removed: %w", ErrNotHeld, h.lock, context.Cause(h.lease.ctx))
}

func (h *Hold) removal(deleted bool) error {
	if !deleted {
		return fmt.Errorf("%w: the key of %q was gone already", ErrNotHeld, h.lock)
	}
	return nil
}

// removeForCertain repeats the removal until etcd has answered or the lease is
// gone. A name must not stay closed to others for longer than one TTL: if the
// lease goes on living but the key cannot be removed, the lease is given up.
func (h *Hold) removeForCertain() {
	giveUp := time.NewTimer(h.lease.ttl)
	defer giveUp.Stop()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-h.lease.ctx.Done():
			pause.Stop()
			_ = h.settle(h.leaseEnded())
			return
		case <-giveUp.C:
			h.lease.die(fmt.Errorf("etcdfence: the key %q could not be removed for a whole TTL", h.key))
		}
		pause.Stop()
		ctx, cancel := context.WithTimeout(h.lease.ctx, time.Second)
		deleted, err := h.remove(ctx)
		cancel()
		if err == nil {
			h.a.log.Debug("key removed late", zap.String("lock", h.lock), zap.Bool("deleted", deleted))
			_ = h.settle(h.removal(deleted))
			return
		}
		h.a.log.Debug("key not removed yet", zap.String("lock", h.lock), zap.NamedError("cause", err))
	}
}

// settle records the certain result and gives the turn back.
func (h *Hold) settle(result error) error {
	h.mu.Lock()
	h.result = result
	close(h.settled)
	h.mu.Unlock()
	h.leave()
	if h.revision.Load() == 0 && errors.Is(result, ErrNotHeld) {
		h.a.spawn(h.sweepLate)
	}
	return result
}

// sweepLate looks a few times more for a key whose create request was lost on the
// way and had not been carried out when its removal was. A key that lands later
// than that is removed by the next acquisition of the name, or goes with the lease.
func (h *Hold) sweepLate() {
	for _, wait := range []time.Duration{50 * time.Millisecond, 250 * time.Millisecond, time.Second, 3 * time.Second} {
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-h.lease.ctx.Done():
			pause.Stop()
			return
		}
		leave, free := h.a.turns.try(h.lock)
		if !free {
			return // somebody else looks after the name now
		}
		ctx, cancel := context.WithTimeout(h.lease.ctx, time.Second)
		deleted, _ := h.remove(ctx)
		cancel()
		leave()
		if deleted {
			return
		}
	}
}

func (h *Hold) awaitRemoval(ctx context.Context) error {
	rctx, cancel := h.removalContext(ctx)
	defer cancel()
	select {
	case <-h.settled:
	case <-rctx.Done():
		select {
		case <-h.settled:
		default:
			return fmt.Errorf("etcdfence: releasing %q: %w", h.lock, ErrUnknownOutcome)
		}
	}
	return h.result
}

// removalContext outlives ctx by a grace, but not the lease.
func (h *Hold) removalContext(ctx context.Context) (context.Context, context.CancelFunc) {
	rctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(h.lease.ctx, cancel)
	if ctx.Done() == nil {
		return rctx, func() { stop(); cancel() }
	}
	late := make(chan *time.Timer, 1)
	unhook := context.AfterFunc(ctx, func() { late <- time.AfterFunc(removeGrace, cancel) })
	return rctx, func() {
		if !unhook() {
			(<-late).Stop()
		}
		stop()
		cancel()
	}
}
