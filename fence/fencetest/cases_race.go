package fencetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/etcdfence/etcdfence/fence"
)

// R7 with several parties at once.
func raceCases[T any]() []testCase[T] {
	return []testCase[T]{
		{rule: "R7", name: "shuffled-stamps-rise", run: shuffled[T]},
		{rule: "R7", name: "one-stamp-many-senders", run: oneStamp[T]},
		{rule: "R7", name: "one-generation-many-owners", run: manyOwners[T]},
	}
}

// race lets the parties send stamps, each the next one of the list, and returns what
// came of them. Each change writes its own stamp.
func (r *run[T]) race(parties []caller[T], stamps []fence.Stamp) []outcome {
	queue := make(chan int, len(stamps))
	for i := range stamps {
		queue <- i
	}
	close(queue)
	outcomes := make([]outcome, len(stamps))
	start := make(chan struct{})
	var joins []func()
	for _, c := range parties {
		joins = append(joins, r.spawn(func() {
			<-start // a head start would put them in order
			for i := range queue {
				outcomes[i] = c.apply(stamps[i], valueOf(stamps[i]))
			}
		}))
	}
	close(start)
	for _, join := range joins {
		join()
	}
	return outcomes
}

// shuffled: stamps and duplicates of them, out of order within a window that moves up,
// so that many are accepted and many are late. A reader watches the value.
func shuffled[T any](r *run[T]) {
	const generations, sequences, window = 8, 3, 12
	var stamps []fence.Stamp
	for g := range int64(generations) {
		for s := range int64(sequences) {
			stamps = append(stamps, r.at(1+g, 1+s), r.at(1+g, 1+s))
		}
	}
	for at := 0; at+window <= len(stamps); at += window / 2 {
		part := stamps[at : at+window]
		rand.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
	}
	parties := r.callers(5)
	reader, writers := parties[4], parties[:4]
	stop := make(chan struct{})
	watch := r.spawn(func() { reader.watchRise(stop) })
	outcomes := r.race(writers, stamps)
	close(stop)
	watch()
	r.strictlyRising(outcomes)
}

// watchRise reads until it is told to stop; what it sees must never go back.
func (c caller[T]) watchRise(stop <-chan struct{}) {
	const enough = 500 // a fast store would fill the history
	last := ""
	for range enough {
		select {
		case <-stop:
			return
		default:
		}
		value := c.read()
		if orderOf(value).Compare(orderOf(last)) < 0 {
			c.failf("the value went back from %s to %s: an older write landed on a newer one", last, value)
		}
		last = value
		if !pause(c.ctx, 0) {
			return
		}
	}
}

// One stamp, sent by many: it is accepted once.
func oneStamp[T any](r *run[T]) {
	r.strictlyRising(r.race(r.callers(4), []fence.Stamp{
		r.at(5, 1), r.at(5, 1), r.at(5, 1), r.at(5, 1), r.at(5, 1), r.at(5, 1), r.at(5, 1), r.at(5, 1),
	}))
}

// One revision, many owners: one of them is in and goes on, all others stay out.
func manyOwners[T any](r *run[T]) {
	parties := r.callers(4)
	var stamps []fence.Stamp
	for i := range int64(8) {
		stamps = append(stamps, r.token(0, 7, fmt.Sprint("owner ", i)).At(1+i))
	}
	outcomes := r.race(parties, stamps)
	r.strictlyRising(outcomes)
	value := r.main().read()
	for i, s := range stamps {
		next := s.Token().At(9)
		if o := r.main().apply(next, "next"); (o.err == nil) != (valueOf(s) == value) {
			r.failf("of all owners that of %s was first, but %v was answered %v", value, describe(stamps[i]), o.err)
		}
	}
}
