package fencetest

import (
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// R2: the mark never goes down, and survives release, reopen and crash as durably as
// the data does.
func durableCases[T any]() []testCase[T] {
	return []testCase[T]{
		{rule: "R2", name: "mark-tells-what-was-accepted", run: markTells[T]},
		{rule: "R2", name: "reopen-keeps-a-write", needs: []power[T]{reopener[T]()}, run: reopenWrite[T]},
		{rule: "R2", name: "reopen-keeps-a-claim", needs: []power[T]{reopener[T]()}, run: reopenClaim[T]},
		{rule: "R2", name: "every-handle-knows-the-mark", needs: []power[T]{sharer[T]()}, run: shared[T]},
	}
}

// The mark is the newest that was accepted, whatever was refused in between.
func markTells[T any](r *run[T]) {
	c := r.main()
	c.marked(fence.Stamp{}, "before anything was accepted")
	accepted := []fence.Stamp{r.at(5, 1), r.at(5, 7), r.at(7, 2), r.token(1, 3, "in another epoch").At(4)}
	var last fence.Stamp
	for i, s := range accepted {
		c.accept(s, fmt.Sprint(i))
		last = s
		c.marked(last, fmt.Sprintf("after %v was accepted", s))
		for _, late := range accepted[:i+1] {
			c.apply(late, "late")
			c.claim(late.Token())
			c.marked(last, fmt.Sprintf("after %v came again", late))
		}
	}
	claimed := r.token(1, 9, "the next")
	c.take(claimed)
	c.marked(claimed.At(0), "after a claim")
}

func (r *run[T]) reopen() {
	call := r.log.begin(Call{Who: "main", Call: "Reopen"})
	err := r.subject.(Reopener).Reopen(r.ctx)
	r.log.end(call, err, nil)
	if err != nil {
		r.failf("Reopen: %v", err)
	}
}

func reopenWrite[T any](r *run[T]) {
	last := r.at(5, 2)
	r.main().accept(r.at(5, 1), "one")
	r.main().accept(last, "two")
	for range 2 { // some forget only what they have not loaded themselves
		r.reopen()
		c := r.main() // the new resource
		c.holds("two", "after a reopen")
		c.refuse(last, "it was accepted before the reopen")
		c.refuse(r.at(4, 9), "a newer one was accepted before the reopen")
		c.refuse(r.token(0, 5, "somebody else").At(3), "another owner's was accepted before the reopen")
		c.marked(last, "after a reopen")
	}
	r.main().accept(r.at(5, 3), "three")
	r.main().holds("three", "after the next write")
}

func reopenClaim[T any](r *run[T]) {
	r.main().accept(r.at(5, 1), "one")
	claimed := r.at(6, 0)
	r.main().take(claimed.Token())
	r.reopen()
	c := r.main()
	c.holds("one", "after a claim and a reopen")
	c.refuse(r.at(5, 2), "a newer token was claimed before the reopen")
	c.marked(claimed, "after a claim and a reopen")
	c.accept(r.at(6, 1), "two")
}

func shared[T any](r *run[T]) {
	parties := r.callers(3)
	for i, c := range parties {
		s := r.at(int64(5+i), 1)
		c.accept(s, valueOf(s))
		for _, other := range parties {
			other.marked(s, "after another handle's write")
			other.refuse(s, "another handle had it accepted")
			other.refuse(r.at(4, 9), "another handle had a newer one accepted")
		}
	}
	parties[0].take(r.at(9, 0).Token())
	parties[1].refuse(r.at(8, 1), "another handle had a newer token claimed")
}
