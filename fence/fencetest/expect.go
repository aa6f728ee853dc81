package fencetest

import (
	"context"
	"errors"

	"github.com/etcdfence/etcdfence/fence"
)

// accept applies and ends the case if that did not succeed.
func (c caller[T]) accept(s fence.Stamp, value string) {
	if o := c.apply(s, value); o.err != nil {
		c.failf("%v must be accepted: %v", s, o.err)
	}
}

// take claims and ends the case if that did not succeed.
func (c caller[T]) take(t fence.Token) {
	if o := c.claim(t); o.err != nil {
		c.failf("the claim of %v must be accepted: %v", t, o.err)
	}
}

// refuse applies and ends the case if that succeeded. In which words it was refused is a
// question for R3, and whether it had an effect is one for R4.
func (c caller[T]) refuse(s fence.Stamp, why string) {
	const value = "written by a refused stamp"
	// After a lost reply "replayed" may be about an acceptance that was before; then the
	// value tells.
	if o := c.apply(s, value); o.accepted() || o.err == nil && c.read() == value {
		c.failf("%v must be refused: %s", s, why)
	}
}

// refuseClaim is refuse for a claim.
func (c caller[T]) refuseClaim(t fence.Token, why string) {
	if o := c.claim(t); o.answer == nil {
		c.failf("the claim of %v must be refused: %s", t, why)
	}
}

// holds ends the case if the value is another one.
func (c caller[T]) holds(value, when string) {
	if got := c.read(); got != value {
		c.failf("%s the value is %q, want %q", when, got, value)
	}
}

// marked ends the case if the mark is another one.
func (c caller[T]) marked(want fence.Stamp, when string) {
	if got := c.mark(); got != want {
		c.failf("%s the mark is %v, want %v", when, describe(got), describe(want))
	}
}

// describe names the owner too: it is part of a stamp.
func describe(s fence.Stamp) string {
	if s.IsZero() {
		return s.String()
	}
	return s.String() + " of " + s.Token().Owner()
}

// refusal ends the case if err is not the typed refusal that R3 asks for.
func (c caller[T]) refusal(err, reason error, presented, mark fence.Stamp) {
	var refused *fence.RefusedError
	switch {
	case err == nil:
		c.failf("%v was accepted, want %q", presented, reason)
	case !errors.Is(err, reason):
		c.failf("%v was answered %q, want %q", presented, err, reason)
	case fence.SafeToRetry(err):
		c.failf("the refusal %q says that it is worth a retry", err)
	case !errors.As(err, &refused):
		c.failf("the refusal %q is no *fence.RefusedError", err)
	case refused.Lock != c.subject.Lock():
		c.failf("the refusal names the lock %q, want %q", refused.Lock, c.subject.Lock())
	case refused.Presented != presented:
		c.failf("the refusal names %v as presented, want %v", describe(refused.Presented), describe(presented))
	}
	// A request that is wrong in itself may be refused without looking at the mark.
	unlooked := refused.Mark.IsZero() && (reason == fence.ErrNoToken || reason == fence.ErrWrongLock) //nolint:errorlint // a sentinel itself
	if refused.Mark != mark && !unlooked {
		c.failf("the refusal names %v as the mark, want %v", describe(refused.Mark), describe(mark))
	}
}

// errChange is what a change fails with.
var errChange = errors.New("the change failed")

// failing is a change that writes and then fails.
func (c caller[T]) failing(value string) change[T] {
	return func(ctx context.Context, tx T) error {
		if err := c.subject.Write(ctx, tx, value); err != nil {
			return err
		}
		return errChange
	}
}
