package etcdfence

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

// lease is one grant of etcd, renewed until it dies; it never comes back. All
// holds of an adapter share the lease that is current when they are acquired.
type lease struct {
	a       *Adapter
	id      clientv3.LeaseID
	hex     string        // of id: the last segment of every key
	owner   string        // of every token
	ttl     time.Duration // as granted
	session *concurrency.Session

	// ctx ends, with the cause, when the lease must no longer be trusted.
	ctx  context.Context
	kill context.CancelCauseFunc

	mu       sync.Mutex
	deadline time.Time          // guarded by mu
	alarm    *time.Timer        // rings at the deadline
	holds    map[*Hold]struct{} // guarded by mu; nil once dead
}

// newLease starts renewing a grant that was asked for at sent.
//
// The local deadline counts from a moment no later than the sending: etcd counts
// the TTL from when it handled the request, which is later, and only ever lets a
// lease live longer (its reaper looks twice a second and a new leader extends
// every lease). So a hold that ends here, a margin before that, has ended before
// etcd can grant the next one. Counting from the reply's arrival, as etcd's client
// does, is too late by the time the reply took.
func (a *Adapter) newLease(id clientv3.LeaseID, ttl time.Duration, sent time.Time) (*lease, error) {
	s, err := newSession(a.client, id)
	if err != nil {
		return nil, err
	}
	l := &lease{a: a, id: id, hex: strconv.FormatInt(int64(id), 16), ttl: ttl, session: s, holds: map[*Hold]struct{}{}}
	l.owner = l.hex + "/" + a.set.owner
	l.ctx, l.kill = context.WithCancelCause(context.Background())
	l.deadline = sent.Add(ttl - a.set.marginOf(ttl))
	l.alarm = time.AfterFunc(time.Until(l.deadline), l.ring)
	return l, nil
}

// join registers a hold. It returns false if the lease is dead.
func (l *lease) join(h *Hold) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holds == nil {
		return false
	}
	l.holds[h] = struct{}{}
	return true
}

func (l *lease) leave(h *Hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.holds, h)
}

func (l *lease) localDeadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline
}

// ring ends the lease if its deadline has passed; a renewal may just have moved it.
func (l *lease) ring() {
	l.mu.Lock()
	left := time.Until(l.deadline)
	if left > 0 && l.holds != nil {
		l.alarm.Reset(left)
	}
	l.mu.Unlock()
	if left <= 0 {
		l.die(ErrDeadline)
	}
}

// expired reports whether the deadline has passed, and ends the lease if so: a
// process that was stopped may run before its timers do.
func (l *lease) expired() bool {
	if time.Now().Before(l.localDeadline()) {
		return false
	}
	l.die(ErrDeadline)
	return true
}

// die ends the lease and with it every hold. Only the first cause counts.
func (l *lease) die(cause error) {
	l.mu.Lock()
	holds := l.holds
	l.holds = nil
	l.alarm.Stop()
	l.mu.Unlock()
	if holds == nil {
		return
	}
	l.kill(cause)
	if !errors.Is(cause, ErrClosed) {
		l.a.log.Warn("lease ended", zap.String("lease", l.hex), zap.Int("holds", len(holds)), zap.NamedError("cause", cause))
	}
	for h := range holds {
		h.lose(cause)
	}
}

// renew keeps the lease alive until it dies.
func (l *lease) renew() {
	period := l.ttl / 3
	tick := time.NewTimer(period)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.ctx.Done():
			l.revokeDead()
			return
		}
		sent := time.Now()
		err := l.renewOnce(period)
		switch {
		case err == nil:
			l.extend(sent)
			tick.Reset(period - min(time.Since(sent), period))
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			l.die(ErrLeaseGone)
		default:
			l.a.log.Debug("lease not renewed", zap.String("lease", l.hex), zap.NamedError("cause", err))
			tick.Reset(min(period/4, 500*time.Millisecond))
		}
	}
}

func (l *lease) renewOnce(within time.Duration) error {
	ctx, cancel := context.WithTimeout(l.ctx, within)
	defer cancel()
	_, err := l.a.client.KeepAliveOnce(ctx, l.id)
	return err
}

func (l *lease) extend(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holds == nil {
		return
	}
	l.deadline = sent.Add(l.ttl - l.a.set.marginOf(l.ttl))
	l.alarm.Reset(time.Until(l.deadline))
}

// known asks etcd whether the lease exists. It ends the lease if etcd says no.
func (l *lease) known(ctx context.Context) (bool, error) {
	resp, err := l.a.client.TimeToLive(ctx, l.id)
	switch {
	case err != nil:
		return false, err
	case resp.TTL < 0: // 0 is a lease with less than a second left
		l.die(ErrLeaseGone)
		return false, nil
	}
	return true, nil
}

// revokeDead gives a lease back that etcd may still hold open, so that the keys on
// it do not stand in the way for the rest of its TTL.
func (l *lease) revokeDead() {
	if cause := context.Cause(l.ctx); errors.Is(cause, ErrLeaseGone) || errors.Is(cause, ErrClosed) {
		return // etcd has done it, or Close does
	}
	ctx, cancel := context.WithTimeout(l.a.ctx, l.ttl)
	defer cancel()
	_ = l.revoke(ctx)
}

func (l *lease) revoke(ctx context.Context) error {
	_, err := l.a.client.Revoke(ctx, l.id)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	return err
}

// leases hands out the current lease and makes a new one when that is dead.
type leases struct {
	mu      sync.Mutex
	current *lease
	grant   *grant
}

// grant is a LeaseGrant under way, which several callers may wait for.
type grant struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiters int // guarded by leases.mu; the last one to leave cancels
	lease   *lease
	err     error
}

// live returns a lease that was alive when looked at. ctx bounds the wait, not the
// life of the lease.
func (a *Adapter) live(ctx context.Context) (*lease, error) {
	a.leases.mu.Lock()
	if l := a.leases.current; l != nil && l.ctx.Err() == nil && !time.Now().After(l.localDeadline()) {
		a.leases.mu.Unlock()
		return l, nil
	}
	g := a.leases.grant
	if g == nil {
		g = &grant{done: make(chan struct{})}
		var gctx context.Context
		gctx, g.cancel = context.WithCancel(a.ctx)
		if !a.spawn(func() { a.makeLease(gctx, g) }) {
			a.leases.mu.Unlock()
			g.cancel()
			return nil, ErrClosed
		}
		a.leases.grant = g
	}
	g.waiters++
	a.leases.mu.Unlock()

	defer func() {
		a.leases.mu.Lock()
		defer a.leases.mu.Unlock()
		if g.waiters--; g.waiters == 0 {
			g.cancel()
		}
	}()
	select {
	case <-g.done:
		return g.lease, g.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (a *Adapter) makeLease(ctx context.Context, g *grant) {
	g.lease, g.err = a.grantLease(ctx)
	a.leases.mu.Lock()
	a.leases.grant = nil
	if g.lease != nil {
		a.leases.current = g.lease
	}
	a.leases.mu.Unlock()
	close(g.done)
}

func (a *Adapter) grantLease(ctx context.Context) (*lease, error) {
	sent := time.Now()
	resp, err := a.client.Grant(ctx, a.set.ttlSeconds())
	if err != nil {
		if a.ctx.Err() != nil {
			return nil, ErrClosed
		}
		return nil, fmt.Errorf("granting a lease: %w", err)
	}
	l, err := a.newLease(resp.ID, time.Duration(resp.TTL)*time.Second, sent)
	if err != nil {
		return nil, err
	}
	if !a.spawn(l.renew) {
		l.die(ErrClosed)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = l.revoke(ctx)
		return nil, ErrClosed
	}
	return l, nil
}
