package fencetest

import "github.com/etcdfence/etcdfence/fence"

// The weaker guard, for subjects that have it: the stamps of one hold in any order, and
// everything else as ever. A store may leave the mark at the claim, so only its token
// is looked at.
func anyOrderCases[T any]() []testCase[T] {
	can := []power[T]{anyOrderer[T]()}
	return []testCase[T]{
		{rule: "anyorder", name: "one-hold-in-any-order", needs: can, run: anySequence[T]},
		{rule: "anyorder", name: "generations-as-ever", needs: can, run: anyGenerations[T]},
		{rule: "anyorder", name: "same-data-same-mark", needs: can, run: anyShared[T]},
	}
}

func (r *run[T]) anyOrder() caller[T] {
	resource, err := r.subject.(AnyOrderer[T]).AnyOrder(r.ctx)
	if err != nil {
		r.failf("AnyOrder: %v", err)
	}
	return caller[T]{run: r, name: "any order", resource: resource}
}

func anySequence[T any](r *run[T]) {
	c := r.anyOrder()
	c.take(r.at(5, 0).Token())
	for _, sequence := range []int64{5, 3, 9, 3, 9, 1} {
		s := r.at(5, sequence)
		c.accept(s, valueOf(s))
		c.holds(valueOf(s), "after an accepted write")
	}
	c.take(r.at(5, 0).Token())
	if mark := c.mark(); mark.Token() != r.at(5, 0).Token() {
		r.failf("after writes of one hold the mark is %v, want one of that hold", mark)
	}
}

func anyGenerations[T any](r *run[T]) {
	c := r.anyOrder()
	c.accept(r.token(1, 5, "one").At(5), "of one")
	for _, s := range []fence.Stamp{
		r.token(1, 4, "older").At(9), r.token(0, 9, "older").At(9), r.token(1, 5, "other").At(6), r.token(1, 5, "other").At(5), {},
	} {
		c.refuse(s, "only the stamps of the mark's own token come in any order")
	}
	c.take(r.token(1, 6, "next"))
	c.refuse(r.token(1, 5, "one").At(6), "a newer token has claimed")
	c.accept(r.token(1, 7, "first").At(1), "without a claim")
}

func anyShared[T any](r *run[T]) {
	c := r.anyOrder()
	r.main().accept(r.at(5, 1), "strict")
	c.holds("strict", "seen from the other guard")
	c.refuse(r.at(4, 1), "the strict guard has accepted a newer token")
	c.accept(r.at(6, 3), "any")
	r.main().refuse(r.at(5, 2), "the other guard has accepted a newer token")
}
