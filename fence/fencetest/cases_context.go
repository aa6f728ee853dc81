package fencetest

import (
	"context"

	"github.com/etcdfence/etcdfence/fence"
)

// R4 again: after an error of the context nothing was applied.
func contextCases[T any]() []testCase[T] {
	return []testCase[T]{
		{rule: "R4", name: "ended-context-changes-nothing", run: endedBefore[T]},
		{rule: "R4", name: "context-that-ends-in-the-change", run: endsInside[T]},
		{rule: "R4", name: "context-that-ends-while-waiting", run: endsWaiting[T]},
	}
}

func endedBefore[T any](r *run[T]) {
	c := r.main()
	first, second := r.at(5, 1), r.at(5, 2)
	c.accept(first, "before")
	ended, cancel := context.WithCancel(r.ctx)
	cancel()
	if o := c.applyWith(ended, second, "late", c.set("late")); o.err == nil {
		r.failf("Apply with a context that had ended was accepted")
	}
	c.holds("before", "after an Apply with a context that had ended")
	note := Call{Who: "main", Call: "Claim", Stamp: r.at(9, 0)}
	if o := c.insist(ended, note, func() error { return c.resource.Claim(ended, note.Stamp.Token()) }); o.err == nil {
		r.failf("a Claim with a context that had ended was accepted")
	}
	c.marked(first, "after calls with a context that had ended")
	if o := c.apply(second, "after"); o.err != nil {
		r.failf("nothing was applied, yet %v is refused now: %v", second, o.err)
	}
}

// truthful checks what an answer says against what there is.
func (c caller[T]) truthful(o outcome, s fence.Stamp, before, value string, mark fence.Stamp) {
	switch got := c.read(); {
	case got == value && o.err != nil && !o.maybe:
		c.failf("%v was answered %q, which says that nothing was applied; but it was", s, o.err)
	case got == value:
		c.marked(s, "after the value was written")
	case got != before:
		c.failf("the value is %q, which nobody wrote in full", got)
	case o.accepted():
		c.failf("%v was accepted, but the value is still %q", s, got)
	default:
		c.marked(mark, "after nothing was written")
	}
}

// The context ends while the change runs, and the change does not mind. Either answer
// is fine if it is the truth.
func endsInside[T any](r *run[T]) {
	c := r.main()
	first, second := r.at(5, 1), r.at(5, 2)
	c.accept(first, "before")
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	o := c.applyWith(ctx, second, "second", func(ctx context.Context, tx T) error {
		err := c.subject.Write(ctx, tx, "second")
		cancel()
		return err
	})
	c.truthful(o, second, "before", "second", first)
	c.apply(second, "second")
	c.holds("second", "when it was sent again")
}

// The context of a newer write ends while an older one is in progress.
func endsWaiting[T any](r *run[T]) {
	parties := r.callers(2)
	slow, c := parties[0], parties[1]
	slow.accept(r.at(5, 1), "before")
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	newer := r.at(6, 1)
	var o outcome
	first := slow.overlap(r.at(5, 2), "slow", func() {
		done := r.spawn(func() { o = c.applyWith(ctx, newer, "newer", c.set("newer")) })
		cancel() // before, while or after it waits: each is a case of its own
		done()
	})
	before, mark := "slow", r.at(5, 2)
	if first.err != nil { // it was overtaken
		before, mark = "before", r.at(5, 1)
	}
	c.truthful(o, newer, before, "newer", mark)
	c.apply(newer, "newer")
	c.holds("newer", "when it was sent again")
}
