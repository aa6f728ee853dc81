package fencetest

import "github.com/etcdfence/etcdfence/fence"

// R3: a refusal is typed, the same in every store, and names both stamps. These are the
// only cases that look at the words of a refusal.
func refusalCases[T any]() []testCase[T] {
	return []testCase[T]{
		{rule: "R3", name: "older-is-stale", run: refusedAs(fence.ErrStale, (*run[T]).older)},
		{rule: "R3", name: "repeated-is-replayed", run: refusedAs(fence.ErrReplayed, (*run[T]).repeated)},
		{rule: "R3", name: "other-owner-is-conflict", run: refusedAs(fence.ErrConflict, (*run[T]).otherOwner)},
		{rule: "R3", name: "other-lock-is-wrong-lock", run: refusedAs(fence.ErrWrongLock, (*run[T]).otherLock)},
		{rule: "R3", name: "no-stamp-is-no-token", run: refusedAs(fence.ErrNoToken, (*run[T]).noStamp)},
		{rule: "R3", name: "mark-of-another-lock", run: markOfAnother[T]},
		{rule: "R3", name: "owners-with-difficult-bytes", run: owners[T]},
	}
}

// refusalMark is the mark that the refusals are judged against.
func (r *run[T]) refusalMark() fence.Stamp { return r.token(1, 50, "holder").At(5) }

func (r *run[T]) older() []fence.Stamp {
	return []fence.Stamp{
		r.token(1, 49, "holder").At(9), r.token(1, 49, "other").At(9),
		r.token(0, 99, "holder").At(9), r.token(0, 50, "holder").At(5),
	}
}

func (r *run[T]) repeated() []fence.Stamp {
	t := r.refusalMark().Token()
	return []fence.Stamp{t.At(5), t.At(4), t.At(0)}
}

// otherOwner has every sequence: it counts another history.
func (r *run[T]) otherOwner() []fence.Stamp {
	t := r.token(1, 50, "other")
	return []fence.Stamp{t.At(6), t.At(5), t.At(4), t.At(0)}
}

func (r *run[T]) noStamp() []fence.Stamp { return []fence.Stamp{{}} }

// otherLock has names that a careless comparison takes for the resource's own.
func (r *run[T]) otherLock() (stamps []fence.Stamp) {
	lock := r.subject.Lock()
	for _, name := range []string{"another lock", lock + "/1", lock + " ", " " + lock, lock + "%", swapCase(lock)} {
		if name != lock && fence.CheckLock(name) == nil {
			stamps = append(stamps, r.tokenOf(name, 9, 99, "holder").At(9), r.tokenOf(name, 1, 50, "holder").At(5))
		}
	}
	return stamps
}

// refusedAs presents stamps, by Apply and by Claim, to a resource with a mark.
func refusedAs[T any](reason error, stamps func(*run[T]) []fence.Stamp) func(*run[T]) {
	return func(r *run[T]) {
		c, mark := r.main(), r.refusalMark()
		c.accept(mark, "before")
		for _, s := range stamps(r) {
			c.refusal(c.apply(s, "refused").answer, reason, s, mark)
			if claim := s.Token().At(0); reason != fence.ErrReplayed { //nolint:errorlint // a sentinel itself
				c.refusal(c.claim(s.Token()).answer, reason, claim, mark)
			}
		}
	}
}

func markOfAnother[T any](r *run[T]) {
	c := r.main()
	for range 2 { // without a mark, and with one
		for _, s := range r.otherLock() {
			name := s.Token().Lock()
			call := r.log.begin(Call{Who: "main", Call: "Mark of " + name})
			_, err := c.resource.Mark(r.ctx, name)
			r.log.end(call, err, nil)
			if !isAny(err, fence.ErrWrongLock) {
				r.failf("the mark of %q was asked for: got %v, want %q", name, err, fence.ErrWrongLock)
			}
		}
		c.apply(r.refusalMark(), "marked")
	}
}
