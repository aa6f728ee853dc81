package fencetest

import (
	"errors"

	"github.com/etcdfence/etcdfence/fence"
)

// An operator sets the mark back, for resources that let one.
func rebaseCases[T any]() []testCase[T] {
	can := []power[T]{rebaser[T]()}
	return []testCase[T]{
		{rule: "rebase", name: "sets-the-mark-back", needs: can, run: rebaseBack[T]},
		{rule: "rebase", name: "only-from-the-mark-that-was-named", needs: can, run: rebaseMoved[T]},
		{rule: "rebase", name: "malformed-ones-are-refused", needs: can, run: rebaseBad[T]},
		{rule: "rebase", name: "one-of-many-operators", needs: can, run: rebaseRace[T]},
	}
}

// rebase sends one rebase until there is an answer; the mark tells after a lost reply.
func (c caller[T]) rebase(from, to fence.Stamp) outcome {
	o := c.insist(c.ctx, Call{Who: c.name, Call: "Rebase from " + from.String() + " to", Stamp: to}, func() error {
		return c.resource.(fence.Rebaser).Rebase(c.ctx, from, to)
	})
	if o.maybe && errors.Is(o.err, fence.ErrMoved) && c.mark() == to {
		o.err = nil
	}
	return o
}

func (c caller[T]) mustRebase(from, to fence.Stamp) {
	if o := c.rebase(from, to); o.err != nil {
		c.failf("the rebase from %v to %v must be done: %v", from, to, o.err)
	}
}

func rebaseBack[T any](r *run[T]) {
	c := r.main()
	high, low := r.token(9, 900, "by mistake").At(3), r.at(6, 0)
	c.accept(high, "kept")
	c.mustRebase(high, low)
	c.marked(low, "after the rebase")
	c.holds("kept", "after the rebase")
	c.refuse(low, "it is the mark now")
	c.refuse(r.at(5, 1), "it is older than the mark now")
	c.accept(r.at(6, 1), "next")
	c.mustRebase(r.at(6, 1), high) // forwards is the same
	c.refuse(r.at(7, 1), "it is older than the mark now")
}

func rebaseMoved[T any](r *run[T]) {
	c := r.main()
	mark, to := r.at(6, 2), r.at(3, 1)
	moved := func(from, found fence.Stamp) {
		o := c.rebase(from, to)
		var refused *fence.RefusedError
		switch {
		case !errors.Is(o.err, fence.ErrMoved) || fence.SafeToRetry(o.err):
			r.failf("a rebase from %v while the mark is %v: got %v, want %q", from, found, o.err, fence.ErrMoved)
		case !errors.As(o.err, &refused) || refused.Mark != found:
			r.failf("the refusal %q does not name the mark, %v", o.err, describe(found))
		}
		c.marked(found, "after a rebase from another mark")
	}
	moved(mark, fence.Stamp{})
	c.accept(mark, "there")
	for _, from := range []fence.Stamp{{}, r.at(6, 1), r.at(5, 2), r.token(0, 6, "other").At(2), r.token(1, 6, "holder 6").At(2)} {
		moved(from, mark)
	}
}

func rebaseBad[T any](r *run[T]) {
	c := r.main()
	mark := r.at(6, 2)
	foreign := r.tokenOf("another lock", 0, 7, "holder").At(1)
	c.mustRebase(fence.Stamp{}, mark) // the zero stamp: there is no mark yet
	for _, bad := range []struct {
		from, to fence.Stamp
		want     error
	}{
		{mark, fence.Stamp{}, fence.ErrBadToken},
		{mark, foreign, fence.ErrBadToken},
		{foreign, mark, fence.ErrBadToken},
		{foreign, foreign, fence.ErrWrongLock},
	} {
		if o := c.rebase(bad.from, bad.to); !errors.Is(o.err, bad.want) || fence.SafeToRetry(o.err) {
			r.failf("a rebase from %v to %v: got %v, want %q", bad.from, bad.to, o.err, bad.want)
		}
		c.marked(mark, "after a refused rebase")
	}
}

// Two operators have read the same mark: one of them is told that it has moved.
func rebaseRace[T any](r *run[T]) {
	c := r.main()
	mark := r.at(9, 9)
	c.accept(mark, "there")
	parties := r.callers(4)
	outcomes := make([]outcome, len(parties))
	var joins []func()
	for i, p := range parties {
		joins = append(joins, r.spawn(func() {
			if _, ok := p.resource.(fence.Rebaser); ok {
				outcomes[i] = p.rebase(mark, r.at(int64(i+1), 1))
			}
		}))
	}
	for _, join := range joins {
		join()
	}
	won, maybe := 0, 0
	for i, o := range outcomes {
		switch {
		case o.maybe:
			maybe++
		case o.err == nil:
			won++
			c.marked(r.at(int64(i+1), 1), "after the rebase that was done")
		}
	}
	if won > 1 || won+maybe == 0 {
		r.failf("%d operators have rebased from one mark, and %d were told that it was done", len(parties), won)
	}
}
