package fencetest

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

// caller is one party that uses the resource.
type caller[T any] struct {
	*run[T]
	name     string
	resource fence.FencedResource[T]
	once     bool // never sends a stamp again
}

// change is what Apply is given.
type change[T any] func(ctx context.Context, tx T) error

// set is the usual change.
func (c caller[T]) set(value string) change[T] {
	return func(ctx context.Context, tx T) error { return c.subject.Write(ctx, tx, value) }
}

// outcome is what came of one intent: of one call, or of several with the same stamp
// while the resource said that this is safe and may help.
type outcome struct {
	err    error // nil also if a lost reply was settled by "replayed"
	maybe  bool  // it may have happened whatever err says: a reply was lost, and nobody told since
	answer error // the last one, as it came
	call   Call  // the last one, with the first one's beginning
}

func (o outcome) accepted() bool { return o.err == nil && !o.maybe }

// apply sends one stamp until there is an answer.
func (c caller[T]) apply(s fence.Stamp, value string) outcome {
	return c.applyWith(c.ctx, s, value, c.set(value))
}

// applyWith is apply with another context or another change than the usual. What the
// change writes is named for the history.
func (c caller[T]) applyWith(ctx context.Context, s fence.Stamp, value string, ch change[T]) outcome {
	note := Call{Who: c.name, Call: "Apply", Stamp: s, Value: value}
	return c.insist(ctx, note, func() error { return c.resource.Apply(ctx, s, ch) })
}

// claim sends one claim until there is an answer.
func (c caller[T]) claim(t fence.Token) outcome {
	note := Call{Who: c.name, Call: "Claim", Stamp: t.At(0)}
	return c.insist(c.ctx, note, func() error { return c.resource.Claim(c.ctx, t) })
}

// insist retries as the contract says: the same stamp again after contention or a lost
// reply. "Replayed" with a mark that equals the stamp then settles it, provided nobody
// else sends that stamp; maybe stays set, for the cases in which somebody does.
func (c caller[T]) insist(ctx context.Context, note Call, send func() error) (o outcome) {
	begin := 0
	for attempt := 0; ; attempt++ {
		call := c.log.begin(note)
		if begin == 0 {
			begin = call.Begin
		}
		o.err = send()
		o.answer = o.err
		c.log.end(call, o.err, nil)
		o.call = *call
		o.call.Begin = begin
		switch {
		case o.err == nil:
			o.maybe = false
			return o
		case !fence.SafeToRetry(o.err):
			var refused *fence.RefusedError
			if o.maybe && errors.Is(o.err, fence.ErrReplayed) && errors.As(o.err, &refused) && refused.Mark == note.Stamp {
				o.err = nil
			}
			return o
		}
		o.maybe = o.maybe || errors.Is(o.err, fence.ErrUnknownOutcome)
		if c.once || !pause(ctx, attempt) {
			return o
		}
	}
}

// pause lets the others go on before the next attempt; it is false if ctx has ended.
func pause(ctx context.Context, attempt int) bool {
	if attempt < 8 {
		runtime.Gosched()
		return ctx.Err() == nil
	}
	timer := time.NewTimer(time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// read is the value as seen from outside.
func (c caller[T]) read() string {
	call := c.log.begin(Call{Who: c.name, Call: "Read"})
	value, err := c.subject.Read(c.ctx)
	c.log.end(call, err, func(n *Call) { n.Value = value })
	if err != nil {
		c.failf("the subject's Read: %v", err)
	}
	return value
}

// mark is what the resource tells.
func (c caller[T]) mark() fence.Stamp {
	call := c.log.begin(Call{Who: c.name, Call: "Mark"})
	mark, err := c.resource.Mark(c.ctx, c.subject.Lock())
	c.log.end(call, err, func(n *Call) { n.Stamp = mark })
	if err != nil {
		c.failf("Mark of the resource's own lock: %v", err)
	}
	return mark
}
