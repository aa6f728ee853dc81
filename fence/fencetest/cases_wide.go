package fencetest

import (
	"math"

	"github.com/etcdfence/etcdfence/fence"
)

// R8: numbers are compared as 64-bit integers, everywhere on the way.
func wideCases[T any]() []testCase[T] {
	wide := func(name string, stamp func(r *run[T], n int64) fence.Stamp) testCase[T] {
		return testCase[T]{rule: "R8", name: name, run: func(r *run[T]) { climb(r, stamp) }}
	}
	return []testCase[T]{
		wide("revision-has-64-bits", func(r *run[T], n int64) fence.Stamp { return r.token(0, n, "holder").At(1) }),
		wide("sequence-has-64-bits", func(r *run[T], n int64) fence.Stamp { return r.token(0, 1, "holder").At(n) }),
		wide("epoch-has-64-bits", func(r *run[T], n int64) fence.Stamp { return r.token(n, 1, "holder").At(1) }),
		{rule: "R8", name: "mark-has-64-bits", run: wideMark[T]},
	}
}

// edges rise, and each is where some representation ends: the number of decimal digits,
// 32 bits, the integers of a double and of a structured HTTP field, 63 bits.
var edges = []int64{
	1, 2, 9, 10, 99, 100, 101,
	math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32, math.MaxUint32 + 1,
	999_999_999_999_999, 1_000_000_000_000_000,
	1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<53 + 2,
	math.MaxInt64 - 1, math.MaxInt64,
}

func climb[T any](r *run[T], stamp func(*run[T], int64) fence.Stamp) {
	c := r.main()
	for i, n := range edges {
		s := stamp(r, n)
		if o := c.apply(s, valueOf(s)); o.err != nil {
			r.failf("%v must be accepted, it is newer than all before: %v", s, o.err)
		}
		c.refuse(s, "it was accepted just now")
		if i > 0 {
			c.refuse(stamp(r, edges[i-1]), "it is older by the edge that was crossed just now")
		}
	}
}

func wideMark[T any](r *run[T]) {
	c := r.main()
	for _, n := range edges {
		s := r.token(n, n, "holder").At(n)
		c.accept(s, valueOf(s))
		c.marked(s, "after it was accepted")
	}
}
