package etcdfence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdfence/etcdfence/fence"
)

// Hold is one successful acquisition, from grant to release or loss. It is safe
// for concurrent use. Release it also after it was lost.
type Hold struct {
	a      *Adapter
	lease  *lease
	lock   string // the lock's name
	prefix string // of the lock's keys, without the final slash
	key    string
	value  string // of the key when it is made
	leave  func() // gives the local turn back

	revision atomic.Int64 // create revision of key; 0 while unknown
	token    fence.Token  // set before the hold is given out
	sequence atomic.Int64

	// base ends, with the cause, when the hold does; ctx is base with the token.
	base context.Context
	ctx  context.Context
	end  context.CancelCauseFunc

	mu      sync.Mutex
	state   state
	gone    bool          // the key cannot matter any more
	settled chan struct{} // closed when the key's removal has a certain result
	result  error         // of the removal; set before settled is closed
}

type state int

const (
	queued   state = iota // the key may be in etcd; the recipe has not returned
	held                  // given to the caller
	lost                  // ended by a loss; the caller has not released it
	released              // Release was called, or the queue was left
)

// Token is the generation of this hold: constant while it is held and after a
// loss, so that a late write is refused by the resource and not by chance. After
// Release it is the zero Token.
func (h *Hold) Token() fence.Token {
	if h.isReleased() {
		return fence.Token{}
	}
	return h.token
}

// Stamp returns a new stamp for one write: 1, 2, 3 and so on; sequence 0 is the
// claim's. Repeat a write with the same stamp, never with a new one. Writers that
// share a hold must reach the resource in the order of their stamps, or the later
// ones are refused as replayed: [Bind] sees to that. After Release it returns the
// zero Stamp.
func (h *Hold) Stamp() fence.Stamp {
	if h.isReleased() {
		return fence.Stamp{}
	}
	return h.token.At(h.sequence.Add(1))
}

func (h *Hold) isReleased() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state == released
}

// Lock is the name of the lock.
func (h *Hold) Lock() string { return h.lock }

// Key is the lock's key in etcd: for looking it up, never for ordering. It is the
// same for every hold of this lock under one lease.
func (h *Hold) Key() string { return h.key }

// Lease is the id of the lease that the key hangs on, shared by all holds of the
// adapter: for looking it up, or for a test to revoke it. It has no order.
func (h *Hold) Lease() clientv3.LeaseID { return h.lease.id }

// TTL is the time to live that etcd granted, which may be more than was asked for.
func (h *Hold) TTL() time.Duration { return h.lease.ttl }

// Context ends when the hold does, and context.Cause then says why: a [LostError],
// or [ErrNotHeld] after a release. It carries the values of the context given to
// Lock but not its deadline, and the token (see [fence.TokenFrom]). Work under it
// stops early; only the resource makes a late write harmless.
func (h *Hold) Context() context.Context { return h.ctx }

// Done is closed when the hold ends.
func (h *Hold) Done() <-chan struct{} { return h.base.Done() }

// Err is nil while the hold is held by local knowledge; afterwards a [LostError],
// or [ErrNotHeld] after a release. nil is not proof: use [Hold.Verify] to ask etcd,
// and a fence to be safe.
func (h *Hold) Err() error {
	if h.base.Err() == nil {
		h.lease.expired()
	}
	return context.Cause(h.base)
}

// during returns ctx with the hold's token, ended with the cause when the hold ends.
func (h *Hold) during(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(fence.WithToken(ctx, h.token))
	stop := context.AfterFunc(h.base, func() { cancel(h.Err()) })
	return ctx, func() { stop(); cancel(nil) }
}

// Deadline is when the hold ends unless the lease is renewed before: the moment
// before which etcd cannot have granted the lock to anybody else, less the margin.
// It moves with every renewal.
func (h *Hold) Deadline() time.Time { return h.lease.localDeadline() }

// Verify asks etcd whether this hold is the current one. It returns nil if it was
// at some moment during the call; a [LostError] or [ErrNotHeld] if it is not; the
// client's error if etcd did not answer, after which nothing is known. An answer
// of nil may be outdated when it arrives, so it never replaces a fence.
func (h *Hold) Verify(ctx context.Context) error {
	if err := h.Err(); err != nil {
		return err
	}
	current, err := h.confirm(ctx)
	if err != nil {
		return fmt.Errorf("etcdfence: verifying %v: %w", h.token, err)
	}
	if !current {
		h.keyGone()
	}
	return h.Err()
}

// confirm asks etcd, by a linearizable Get, whether the oldest key of the lock is
// this hold's.
func (h *Hold) confirm(ctx context.Context) (bool, error) {
	resp, err := h.a.client.Get(ctx, h.prefix+"/", clientv3.WithFirstCreate()...)
	if err != nil {
		return false, err
	}
	return len(resp.Kvs) > 0 && string(resp.Kvs[0].Key) == h.key &&
		resp.Kvs[0].CreateRevision == h.revision.Load(), nil
}

// keyGone ends the hold after etcd has shown that its key is gone, and finds out
// whether the lease went with it.
func (h *Hold) keyGone() {
	ctx, cancel := context.WithTimeout(h.lease.ctx, returnGrace)
	defer cancel()
	_, _ = h.lease.known(ctx) // ends all holds of the lease if that is gone
	cause := ErrKeyDeleted
	if h.lease.ctx.Err() != nil { // perhaps found out by another hold at this moment
		cause = context.Cause(h.lease.ctx)
	}
	h.lose(cause)
}

// lose ends the hold for a cause after which its key cannot matter any more: it is
// gone from etcd, or it hangs on a lease that this adapter has given up.
func (h *Hold) lose(cause error) {
	now := h.leaveHeld(cause, true)
	if now == released {
		return
	}
	h.forget()
	if now == lost { // while queueing, acquire still has the turn
		h.leave()
	}
}

// invalidate ends the hold because a resource refused it. Its key is still in
// etcd, for Release to remove.
func (h *Hold) invalidate(cause error) { h.leaveHeld(cause, false) }

// leaveHeld ends the hold's context with the cause, unless it was released, and
// returns the state after it. Whoever sees the context end must find gone set
// already, or an immediate Release would ask etcd about a key that cannot matter.
func (h *Hold) leaveHeld(cause error, gone bool) state {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = h.gone || gone
	switch h.state {
	case released:
		return released
	case held:
		h.state = lost
		level := zap.WarnLevel
		if errors.Is(cause, ErrClosed) {
			level = zap.DebugLevel
		}
		h.a.log.Log(level, "hold lost", zap.String("lock", h.lock), zap.Stringer("token", h.token), zap.NamedError("cause", cause))
	}
	h.end(&LostError{Lock: h.lock, Token: h.token, Cause: cause})
	return h.state
}

// give makes a queueing hold a held one. It returns false if it was lost meanwhile.
func (h *Hold) give(t fence.Token) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.base.Err() != nil {
		return false
	}
	h.token = t
	h.ctx = fence.WithToken(h.base, t)
	h.state = held
	return true
}

// forget stops everything that looks after the hold.
func (h *Hold) forget() {
	h.lease.leave(h)
	h.a.keys.drop(h)
}

// String is the token, for logs: the lock, the epoch and the revision.
func (h *Hold) String() string { return h.token.String() }
