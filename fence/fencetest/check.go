package fencetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// DefaultPatience is how long one case may take if the [Subject] is not [Patient].
const DefaultPatience = 30 * time.Second

// Patient is a Subject that says how long one case may take: more for a slow store,
// less for a fast one that is expected to hang.
type Patient interface {
	Patience() time.Duration
}

// Check runs every case on a fresh subject, one after the other, and returns the
// violations it found, each a [*Violation], joined; nil if there were none. Cases
// that need a power which the subject does not have are left out; [Run] names them.
// If ctx ends its error is among the result and the remaining cases are left out.
func Check[T any](ctx context.Context, factory Factory[T]) error {
	var found []error
	for _, c := range cases[T]() {
		if err := ctx.Err(); err != nil {
			return errors.Join(append(found, fmt.Errorf("fencetest: stopped before %s: %w", c.title(), err))...)
		}
		if _, violation := examine(ctx, factory, c); violation != nil {
			found = append(found, violation)
		}
	}
	return errors.Join(found...)
}

// Run is [Check] as subtests: one for each case, named "R7/equal-is-refused", with a
// subject of its own. A case that needs a power which the subject does not have
// passes, and its log says what was not checked.
func Run[T any](t *testing.T, factory Factory[T]) {
	t.Helper()
	for _, c := range cases[T]() {
		t.Run(c.title(), func(t *testing.T) {
			t.Helper()
			absent, violation := examine(t.Context(), factory, c)
			switch {
			case violation != nil:
				t.Error(violation)
			case absent != "":
				t.Logf("not checked: it needs %s", absent)
			}
		})
	}
}

// examine runs one case. It returns the power that the subject lacks for it, or what
// the case found.
func examine[T any](ctx context.Context, factory Factory[T], c testCase[T]) (absent string, found *Violation) {
	say := func(calls []Call, format string, args ...any) *Violation {
		return &Violation{Rule: c.rule, Case: c.name, Detail: fmt.Sprintf(format, args...), History: calls}
	}
	var subject Subject[T]
	var err error
	making, cancel := context.WithTimeout(ctx, DefaultPatience)
	defer cancel()
	if bad := bounded(DefaultPatience+slack, func() { subject, err = factory(making) }); bad != nil {
		return "", say(nil, "making a fresh subject: %v", bad)
	} else if err != nil {
		return "", say(nil, "making a fresh subject: %v", err)
	}

	patience := DefaultPatience
	if p, ok := subject.(Patient); ok {
		patience = p.Patience()
	}
	for _, p := range c.needs {
		if !p.of(subject) {
			absent = p.name
		}
	}
	r := newRun(subject)
	if absent == "" {
		running, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		// A call that heeds its context comes back by itself; slack is for the others.
		if bad := bounded(patience+slack, func() { r.start(running, c) }); bad != nil {
			r.fail(bad.Error())
		}
	}
	if detail := r.failure(); detail != "" {
		found = say(r.log.all(), "%s", detail)
	}
	bad := bounded(patience+slack, func() { err = subject.Close() })
	if found == nil && (bad != nil || err != nil) {
		found = say(r.log.all(), "closing the subject: %v", errors.Join(bad, err))
	}
	return absent, found
}

// slack is how much longer than its context a call may take to come back.
const slack = 2 * time.Second
