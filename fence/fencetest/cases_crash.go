package fencetest

// R2 for stores that can be killed.
func crashCases[T any]() []testCase[T] {
	return []testCase[T]{
		{rule: "R2", name: "crash-keeps-write-and-claim", needs: []power[T]{crasher[T]()}, run: crash[T]},
		{rule: "R2", name: "crash-during-a-write", needs: []power[T]{crasher[T]()}, run: crashDuring[T]},
	}
}

func (r *run[T]) crash() {
	call := r.log.begin(Call{Who: "main", Call: "Crash"})
	err := r.subject.(Crasher).Crash(r.ctx)
	r.log.end(call, err, nil)
	if err != nil {
		r.failf("Crash: %v", err)
	}
}

func crash[T any](r *run[T]) {
	last := r.at(5, 2)
	r.main().accept(last, "two")
	r.crash()
	c := r.main()
	c.holds("two", "after a crash")
	c.refuse(last, "it was accepted before the crash")
	c.refuse(r.at(4, 9), "a newer one was accepted before the crash")
	c.marked(last, "after a crash")
	c.take(r.at(6, 0).Token())
	r.crash()
	c = r.main()
	c.refuse(r.at(5, 3), "a newer token was claimed before the crash")
	c.marked(r.at(6, 0), "after a claim and a crash")
}

// A store that is killed between its steps must come up with all of a write or none
// of it. What was reported as accepted is there; what was not may be, and the same
// stamp again makes it so.
func crashDuring[T any](r *run[T]) {
	first, second := r.at(5, 1), r.at(5, 2)
	r.main().accept(first, "first")
	c := r.main()
	c.once = true // the handle may be of no use after the crash
	o := c.overlap(second, "second", r.crash)
	c = r.main()
	value, mark := c.read(), c.mark()
	switch {
	case value == "first" && mark == first && o.err != nil:
	case value == "second" && mark == second:
	case value == "first" && mark == first:
		r.failf("%v was reported as accepted and is gone after the crash", second)
	default:
		r.failf("after the crash the value is %q beside the mark %v", value, mark)
	}
	c.apply(second, "second")
	c.holds("second", "when the same stamp was sent again after the crash")
	c.refuse(second, "it was accepted")
	c.refuse(first, "a newer one was accepted")
}
