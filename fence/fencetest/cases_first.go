package fencetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/etcdfence/etcdfence/fence"
)

// R9: the first write ever, something missing and stale are three different results.
// R10: nothing passes without a token.
func firstCases[T any]() []testCase[T] {
	return []testCase[T]{
		{rule: "R9", name: "first-write-ever", run: first[T]},
		{rule: "R9", name: "missing-is-not-stale", run: missing[T]},
		{rule: "R9", name: "a-mark-without-data-is-no-first-write", run: markAlone[T]},
		{rule: "R10", name: "nothing-passes-without-a-token", run: noToken[T]},
		{rule: "R10", name: "nothing-passes-with-another-locks-token", run: wrongLock[T]},
	}
}

func first[T any](r *run[T]) {
	c := r.main()
	c.holds("", "before anything was written")
	if o := c.apply(r.at(5, 1), "first"); o.err != nil {
		r.failf("the first write ever must be accepted, with or without a claim: %v", o.err)
	}
	c.holds("first", "after the first write ever")
}

// errMissing is what a change says that does not find its row.
var errMissing = errors.New("the row is missing")

func missing[T any](r *run[T]) {
	c := r.main()
	lookup := func(context.Context, T) error { return fmt.Errorf("looking it up: %w", errMissing) }
	for i := range int64(2) { // on a fresh resource, and on one that has a mark
		o := c.applyWith(r.ctx, r.at(7+i, 1), "", lookup)
		if !errors.Is(o.err, errMissing) || isAny(o.err, answers...) {
			r.failf("what the change looked for is missing; got %v, want that", o.err)
		}
		c.apply(r.at(5, 1), "something")
	}
}

// Only a claim was made: there is a mark and no data. A resource that takes missing
// data for "nothing was accepted yet" lets older ones in.
func markAlone[T any](r *run[T]) {
	c := r.main()
	c.claim(r.at(5, 0).Token())
	c.claim(r.at(7, 0).Token())
	c.refuse(r.at(5, 1), "a newer token has claimed, though there is no data yet")
}

func noToken[T any](r *run[T]) {
	c := r.main()
	t := r.at(5, 0).Token()
	for range 2 { // on a fresh resource, and on one that has a mark
		for _, s := range []fence.Stamp{{}, fence.Token{}.At(1), t.At(-1)} {
			c.refuse(s, "it is no stamp")
		}
		c.refuseClaim(fence.Token{}, "it is no token")
		c.apply(t.At(1), "something")
	}
	if o := c.apply(t.At(2), "more"); o.err != nil {
		r.failf("a stamp after requests without one: %v", o.err)
	}
}

func wrongLock[T any](r *run[T]) {
	c := r.main()
	for range 2 {
		for _, s := range r.otherLock() {
			c.refuse(s, "its token is of another lock than the resource's")
			c.refuseClaim(s.Token(), "it is of another lock than the resource's")
		}
		c.apply(r.at(1, 1), strings.Repeat("v", 100))
	}
	if o := c.apply(r.at(2, 1), "more"); o.err != nil {
		r.failf("the resource's own token after others': %v", o.err)
	}
}
