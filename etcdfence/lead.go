package etcdfence

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/etcdfence/etcdfence/fence"
)

// LeadOptions of [Lead]. A nil *LeadOptions and every zero field mean the default.
type LeadOptions struct {
	// Lost is called when a leadership was lost, after the function has returned and
	// before the next campaign. err is the [LostError], joined with what the function
	// returned if that was an error. If Lost returns an error, Lead returns it instead
	// of campaigning again. Default: campaign again.
	Lost func(l *Leadership, err error) error
}

// Lead campaigns for the named election and calls f whenever this process leads it,
// one call at a time. Whoever leads is shown to onlookers with the value. f's context
// is ctx with the leader's token, ended with the cause when the leadership ends. f must
// return then: Lead waits for it, and only after that campaigns again, so that in one
// process no two terms overlap. Another process may well lead by then, and write: what
// f writes must go through [Bind], which makes the late writes harmless.
//
//	err := etcdfence.Lead(ctx, locks, "scheduler", address, nil,
//		func(ctx context.Context, l *etcdfence.Leadership) error {
//			w, err := etcdfence.Bind(ctx, l.Hold, jobs)
//			...
//		})
//
// Lead returns
//   - what f returned, if it returned while it led, or after it had released the
//     leadership itself;
//   - ctx's error, if that ended while campaigning;
//   - at once what another campaign does not cure: [ErrRolledBack], [fence.ErrConflict],
//     [ErrForeignKey], [ErrBadName], [ErrBadValue], [ErrClosed], a missing permission;
//   - what [LeadOptions].Lost returned.
//
// After everything else it campaigns again, with pauses that grow to one TTL while
// terms are shorter than that. When it returns, or panics because f did, the
// leadership has been released as [Hold.Release] does, and never before f has returned.
func Lead(ctx context.Context, a *Adapter, name, value string, opts *LeadOptions,
	f func(ctx context.Context, l *Leadership) error) error {
	if opts == nil {
		opts = &LeadOptions{}
	}
	for pause := firstPause; ; pause = min(2*pause, a.set.asked()) {
		l, err := a.Campaign(ctx, name, value)
		switch {
		case err == nil:
			began := time.Now()
			lost, err := l.term(ctx, f)
			if !lost || futile(err) {
				return err
			}
			if opts.Lost != nil {
				if err := opts.Lost(l, err); err != nil {
					return err
				}
			}
			if time.Since(began) > a.set.asked() {
				pause = firstPause
			}
		case ctx.Err() != nil || futile(err) || refusedByServer(err) && !errors.Is(err, ErrLost):
			return err
		default:
			a.log.Warn("campaigning again", zap.String("lock", name), zap.NamedError("cause", err))
		}
		_ = a.idle(ctx, pause/2+rand.N(pause)) // the next campaign says what has ended
	}
}

const firstPause = 20 * time.Millisecond

// futile reports whether another campaign would end in the same way.
func futile(err error) bool {
	for _, lasting := range []error{ErrClosed, ErrBadName, ErrBadValue, ErrForeignKey, ErrRolledBack, fence.ErrConflict} {
		if errors.Is(err, lasting) {
			return true
		}
	}
	return false
}

// term calls f under the leadership and releases that. It returns what f returned and,
// if the leadership was lost, that.
func (l *Leadership) term(ctx context.Context, f func(context.Context, *Leadership) error) (lost bool, err error) {
	defer l.releaseAfter(ctx, "Lead")
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { l.overrun(done) })
	defer watch.Wait()
	defer close(done)
	fctx, stop := l.during(ctx)
	defer stop()
	err = f(fctx, l)
	cause := l.Err()
	switch {
	case !errors.Is(cause, ErrLost):
		return false, err
	case err == nil:
		err = cause
	case !errors.Is(err, cause):
		err = errors.Join(err, cause)
	}
	return true, err
}

// overrun says in the log that the function goes on although its term has ended: this
// process does not campaign until it returns.
func (l *Leadership) overrun(done <-chan struct{}) {
	select {
	case <-l.Done():
	case <-done:
		return
	}
	patience := time.NewTimer(l.lease.ttl)
	defer patience.Stop()
	select {
	case <-patience.C:
		l.a.log.Warn("the function has not returned one TTL after its leadership ended",
			zap.String("lock", l.lock), zap.Stringer("token", l.token), zap.NamedError("cause", l.Err()))
	case <-done:
	}
}
