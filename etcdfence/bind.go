package etcdfence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/etcdfence/etcdfence/fence"
)

// Bound is one hold writing to one resource. It puts the stamps on the writes, in
// order, and repeats a write whose outcome is unknown with the same stamp. It is
// safe for concurrent use: its writes go to the resource one after another. Bind
// each resource of a hold once and share the Bound.
type Bound[T any] struct {
	hold     *Hold
	resource fence.FencedResource[T]
	turn     chan struct{} // holds one value while a write is under way
}

// Bind claims the resource for the hold and returns the way to write to it. Once it
// has returned nil no older generation can change the resource, so that what the
// caller reads from now on stays true until a newer holder claims. Without a claim
// holders that overlap lose updates although each of their writes was fenced.
//
// Errors: the resource's refusal, and the hold is then lost; [ErrRolledBack];
// [ErrNotHeld] if the hold was released. Outcomes that are unknown and contention
// are retried while ctx and the hold last.
func Bind[T any](ctx context.Context, h *Hold, resource fence.FencedResource[T]) (*Bound[T], error) {
	if h == nil {
		return nil, ErrNotHeld
	}
	b := &Bound[T]{hold: h, resource: resource, turn: make(chan struct{}, 1)}
	if err := b.claim(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// Hold is the hold that b writes under.
func (b *Bound[T]) Hold() *Hold { return b.hold }

func (b *Bound[T]) claim(ctx context.Context) error {
	t := b.hold.Token()
	if t.IsZero() {
		return ErrNotHeld
	}
	err := b.retry(ctx, "claim", func() error { return b.resource.Claim(ctx, t) })
	return b.judged(ctx, err)
}

// Apply makes one write: it takes the hold's next stamp and has the resource apply
// the change if no newer generation was accepted. ctx reaches the change with the
// stamp in it (see [fence.StampFrom]). change may run more than once.
//
// The resource decides, not the clock of this process: a hold that is lost by local
// knowledge still presents its stamp, and is refused if anybody has claimed since.
// To stop sooner pass a context that ends with the hold, as [Do] does.
//
// A write whose reply is lost is sent again with the same stamp while ctx and the
// hold last, and so is one that the store gave up for contention. If the resource
// then says that exactly this stamp was accepted, Apply returns nil: the change was
// applied once. [fence.ErrReplayed] on a first sending is returned as it is.
//
// Errors: those of [fence.FencedResource]; after [fence.ErrStale] and
// [fence.ErrConflict] the hold is lost; [ErrRolledBack] if etcd confirms the hold
// that the resource refused; [ErrNotHeld] after the release; ctx's.
func (b *Bound[T]) Apply(ctx context.Context, change func(ctx context.Context, tx T) error) error {
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("etcdfence: waiting to write under %q: %w", b.hold.lock, ctx.Err())
	}
	defer func() { <-b.turn }()
	s := b.hold.Stamp()
	if s.IsZero() {
		return ErrNotHeld
	}
	sctx := fence.WithStamp(ctx, s)
	unknown := false
	err := b.retry(ctx, "write", func() error {
		err := b.resource.Apply(sctx, s, change)
		if unknown && appliedBefore(err, s) {
			return nil
		}
		unknown = unknown || errors.Is(err, fence.ErrUnknownOutcome)
		return err
	})
	return b.judged(ctx, err)
}

// appliedBefore reports whether err proves that s was accepted: a mark that equals
// it. A later mark of the same hold proves nothing.
func appliedBefore(err error, s fence.Stamp) bool {
	var refused *fence.RefusedError
	return errors.Is(err, fence.ErrReplayed) && errors.As(err, &refused) && refused.Presented == s && refused.Mark == s
}

// retryQuiet is how long a write is repeated before each warning about it.
const retryQuiet = 3 * time.Second

// retry repeats send, which sends the same stamp each time, while that is safe and
// ctx and the hold last.
func (b *Bound[T]) retry(ctx context.Context, what string, send func() error) error {
	warn := time.Now().Add(retryQuiet)
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		err := send()
		if !fence.SafeToRetry(err) {
			return err
		}
		level := zap.DebugLevel
		if now := time.Now(); now.After(warn) {
			level, warn = zap.WarnLevel, now.Add(retryQuiet)
		}
		b.hold.a.log.Log(level, "sending again", zap.String("lock", b.hold.lock), zap.Stringer("token", b.hold.token),
			zap.String("what", what), zap.NamedError("cause", err))
		pause := time.NewTimer(wait/2 + rand.N(wait))
		select {
		case <-pause.C:
			continue
		case <-ctx.Done():
			err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
		case <-b.hold.Done():
			err = fmt.Errorf("%w: %w", err, b.hold.Err())
		}
		pause.Stop()
		return err
	}
}

// judged ends the hold if a resource has refused its generation, and finds out
// whether that is because etcd went back in time: a hold that etcd confirms is the
// newest, so a resource that knows a newer one learned of it in another history.
func (b *Bound[T]) judged(ctx context.Context, err error) error {
	var refused *fence.RefusedError
	if !errors.As(err, &refused) || !errors.Is(err, fence.ErrStale) && !errors.Is(err, fence.ErrConflict) {
		return err
	}
	cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnGrace)
	defer cancel()
	if current, cerr := b.hold.confirm(cctx); cerr == nil && current {
		err = &RolledBackError{Refused: refused}
	}
	b.hold.invalidate(err)
	return err
}

// Do runs f while holding the named lock, with the resource claimed: the whole life
// of a hold in one call. f is not called if acquiring or claiming fails. Its context
// is ctx, ended early with the cause if the hold is lost; it must do all its writes
// through the Bound. Do releases the lock when f returns, also if f panics.
//
// Errors: those of [Adapter.Lock] and [Bind], and f's, joined with a [LostError] if
// the hold was lost meanwhile. If f returns nil so does Do: what f has written was
// accepted by the resource, whatever became of the hold.
func Do[T any](ctx context.Context, a *Adapter, lock string, resource fence.FencedResource[T],
	f func(ctx context.Context, w *Bound[T]) error) error {
	h, err := a.Lock(ctx, lock)
	if err != nil {
		return err
	}
	defer h.releaseAfter(ctx, "Do")
	w, err := Bind(ctx, h, resource)
	if err != nil {
		return err
	}
	fctx, stop := h.during(ctx)
	defer stop()
	err = f(fctx, w)
	if err == nil {
		return nil
	}
	if lost := h.Err(); lost != nil && !errors.Is(err, lost) {
		return errors.Join(err, lost)
	}
	return err
}
