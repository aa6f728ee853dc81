package fencetest

import (
	"fmt"
	"strconv"

	"github.com/etcdfence/etcdfence/fence"
)

// R5: a claim closes the window before the first write.
func claimCases[T any]() []testCase[T] {
	return []testCase[T]{
		{rule: "R5", name: "claim-comes-first", run: claimFirst[T]},
		{rule: "R5", name: "claim-closes-the-window", run: claimCloses[T]},
		{rule: "R5", name: "claim-of-an-older-token-is-refused", run: claimOlder[T]},
		{rule: "R5", name: "claim-again-is-fine", run: claimAgain[T]},
		{rule: "R5", name: "claim-after-writes-keeps-the-sequence", run: claimAfter[T]},
		{rule: "R5", name: "claim-leaves-the-data", run: claimLeaves[T]},
		{rule: "R5", name: "no-update-is-lost", run: lostUpdate[T]},
	}
}

// The very first thing a resource sees may be a claim.
func claimFirst[T any](r *run[T]) {
	c := r.main()
	c.take(r.at(5, 0).Token())
	c.holds("", "after a claim before anything was written")
	c.refuse(r.at(4, 1), "a newer token has claimed before the first write ever")
	c.accept(r.at(5, 1), "first")
	c.holds("first", "after the first write")
}

// Without this a new holder reads, an old write lands, and the new holder writes over
// it what it has computed from the old value.
func claimCloses[T any](r *run[T]) {
	parties := r.callers(2)
	old, newer := parties[0], parties[1]
	old.take(r.at(5, 0).Token())
	old.accept(r.at(5, 1), "1")
	newer.take(r.at(6, 0).Token())
	newer.holds("1", "after the claim")
	old.refuse(r.at(5, 2), "a newer token has claimed, though not written yet")
	newer.accept(r.at(6, 1), "2")
	newer.holds("2", "at the end")
}

func claimOlder[T any](r *run[T]) {
	c := r.main()
	c.take(r.at(6, 0).Token())
	c.refuseClaim(r.at(5, 0).Token(), "a newer token has claimed")
	c.refuseClaim(r.token(0, 6, "other"), "another owner has claimed with this revision")
	c.accept(r.at(6, 1), "first")
	c.refuseClaim(r.at(5, 0).Token(), "a newer token has written")
	c.refuse(r.at(5, 1), "its claim was refused")
	c.accept(r.at(6, 2), "second")
}

// A holder whose claim was answered by nobody claims again: never "replayed".
func claimAgain[T any](r *run[T]) {
	c := r.main()
	for range 3 {
		c.take(r.at(5, 0).Token())
	}
	c.accept(r.at(5, 1), "first")
	for range 2 {
		c.take(r.at(5, 0).Token())
	}
}

func claimAfter[T any](r *run[T]) {
	c := r.main()
	last := r.at(5, 3)
	c.accept(last, "third")
	c.claim(last.Token())
	for _, s := range []fence.Stamp{r.at(5, 1), last} {
		c.refuse(s, "it was accepted, or overtaken, before its token claimed once more")
	}
}

func claimLeaves[T any](r *run[T]) {
	c := r.main()
	c.accept(r.at(5, 1), "first")
	c.claim(r.at(6, 0).Token())
	c.holds("first", "after a claim")
	c.claim(r.at(6, 0).Token())
	c.claim(r.at(5, 0).Token())
	c.holds("first", "after a repeated and a refused claim")
}

// Overlapping holders count: each claims, reads from outside and writes one more. Every
// write that is accepted must be counted.
func lostUpdate[T any](r *run[T]) {
	const holders, turns = 4, 6
	parties := r.callers(holders)
	r.main().accept(r.at(1, 1), "0")
	accepted := make([]int, holders)
	maybe := make([]int, holders)
	var joins []func()
	for i, c := range parties {
		joins = append(joins, r.spawn(func() {
			for turn := range int64(turns) {
				t := r.token(0, 100+turn*holders+int64(i), fmt.Sprint("holder ", i))
				if c.claim(t).err != nil {
					continue // overtaken
				}
				n, err := strconv.Atoi(c.read())
				if err != nil {
					c.failf("the counter is no number: %v", err)
				}
				pause(c.ctx, 0) // so that others get in between
				switch o := c.apply(t.At(1), strconv.Itoa(n+1)); {
				case o.err == nil: // nobody else sends this stamp
					accepted[i]++
				case o.maybe:
					maybe[i]++
				}
			}
		}))
	}
	for _, join := range joins {
		join()
	}
	low, high := 0, 0
	for i := range accepted {
		low += accepted[i]
		high += accepted[i] + maybe[i]
	}
	if n, err := strconv.Atoi(r.main().read()); err != nil || n < low || n > high {
		r.failf("%d increments were accepted (and %d may have been), but the counter is %d (%v): updates were lost",
			low, high-low, n, err)
	}
}
