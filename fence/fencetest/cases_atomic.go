package fencetest

import "github.com/etcdfence/etcdfence/fence"

// R1: compare and change are one atomic step. Each case keeps a change in progress and
// looks what passes it.
func atomicCases[T any]() []testCase[T] {
	return []testCase[T]{
		{rule: "R1", name: "nothing-lands-after-a-newer-claim", run: gapClaim[T]},
		{rule: "R1", name: "nothing-lands-after-a-newer-write", run: gapWrite[T]},
		{rule: "R1", name: "nothing-shows-before-it-is-done", run: nothingShows[T]},
		{rule: "R1", name: "data-and-mark-change-together", run: together[T]},
	}
}

// The step from "I have compared" to "I have written" is where a newer claim gets in
// between. What was read after the claim had returned must stay.
func gapClaim[T any](r *run[T]) {
	parties := r.callers(2)
	old, newer := parties[0], parties[1]
	old.accept(r.at(1, 1), "first")
	var claimed bool
	var seen string
	o := old.overlap(r.at(1, 2), "late", func() {
		claimed = newer.claim(r.at(2, 0).Token()).err == nil
		seen = newer.read()
	})
	if !claimed {
		r.failf("the claim of a newer token must be accepted")
	}
	if now := newer.read(); now != seen {
		r.failf("the value was %q after a newer claim had returned, and then became %q: "+
			"the older write landed behind the claim", seen, now)
	}
	if o.err == nil && seen != "late" {
		r.failf("the older write was reported as done, but the value is %q", seen)
	}
}

// The same with a newer write instead of a claim.
func gapWrite[T any](r *run[T]) {
	parties := r.callers(2)
	old, newer := parties[0], parties[1]
	old.accept(r.at(1, 1), "first")
	old.overlap(r.at(1, 2), "late", func() { newer.accept(r.at(2, 1), "newer") })
	newer.holds("newer", "when an older and a newer write have overlapped")
	newer.accept(r.at(2, 2), "newest")
	newer.holds("newest", "after the next write")
}

// What a change in progress has written is seen by nobody before the change is done.
func nothingShows[T any](r *run[T]) {
	parties := r.callers(2)
	first := r.at(1, 1)
	parties[0].accept(first, "first")
	var seen string
	var mark fence.Stamp
	var early bool
	inProgress := make(chan struct{})
	parties[0].overlapUntil(r.at(1, 2), "second", inProgress, func() {
		seen = parties[1].read()
		mark = parties[1].mark()
		select {
		case <-inProgress:
		default:
			early = true // both came back while the change was still in progress
		}
	})
	if early && (seen != "first" || mark != first) {
		r.failf("while a change was in progress, others saw the value %q beside the mark %v", seen, mark)
	}
}

// A reader that asks for value, mark, value while a writer goes on must never see a
// value without its mark, or a mark without its value.
func together[T any](r *run[T]) {
	const writes = 24
	parties := r.callers(2)
	writer, reader := parties[0], parties[1]
	writing := make(chan struct{}, 1)
	join := r.spawn(func() {
		defer close(writing)
		for i := range int64(writes) {
			select {
			case writing <- struct{}{}: // the reader looks while this write is made
			default:
			}
			s := r.at(1+i/4, 1+i%4)
			writer.accept(s, valueOf(s))
		}
	})
	for range writing {
		before, mark, after := reader.read(), reader.mark(), reader.read()
		if orderOf(before).Compare(orderOfStamp(mark)) > 0 {
			r.failf("the value of %s was there before its mark: the mark was %v then", before, mark)
		}
		if orderOfStamp(mark).Compare(orderOf(after)) > 0 {
			r.failf("the mark %v was there before its value: the value was %s then", mark, after)
		}
	}
	join()
	last := r.at(1+(writes-1)/4, 1+(writes-1)%4)
	writer.holds(valueOf(last), "after all writes")
	writer.marked(last, "after all writes")
}
