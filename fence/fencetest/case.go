package fencetest

import (
	"slices"

	"github.com/etcdfence/etcdfence/fence"
)

// testCase is one question to a resource. Its own rule is all that it looks at, as
// far as that is possible: a resource that breaks one rule fails the cases of that
// rule and no others. So a case asks whether a stamp was refused, and only those of
// R3 ask in which words.
type testCase[T any] struct {
	rule  string
	name  string // unique within the rule
	needs []power[T]
	run   func(*run[T])
}

func (c testCase[T]) title() string { return c.rule + "/" + c.name }

// cases is the whole kit.
func cases[T any]() []testCase[T] {
	return slices.Concat(
		atomicCases[T](),    // R1
		durableCases[T](),   // R2
		crashCases[T](),     // R2
		replyCases[T](),     // R6
		refusalCases[T](),   // R3
		changeCases[T](),    // R4
		contextCases[T](),   // R4
		claimCases[T](),     // R5
		orderCases[T](),     // R7
		raceCases[T](),      // R7
		wideCases[T](),      // R8
		firstCases[T](),     // R9, R10
		operationCases[T](), // and what a resource may do besides
		anyOrderCases[T](),
		rebaseCases[T](),
	)
}

// power is something that not every subject can.
type power[T any] struct {
	name string
	of   func(Subject[T]) bool
}

func is[I any, T any](name string) power[T] {
	return power[T]{name, func(s Subject[T]) bool { _, ok := s.(I); return ok }}
}

func reopener[T any]() power[T]   { return is[Reopener, T]("a subject that is a Reopener") }
func crasher[T any]() power[T]    { return is[Crasher, T]("a subject that is a Crasher") }
func loser[T any]() power[T]      { return is[Loser, T]("a subject that is a Loser") }
func sharer[T any]() power[T]     { return is[Sharer[T], T]("a subject that is a Sharer") }
func anyOrderer[T any]() power[T] { return is[AnyOrderer[T], T]("a subject that is an AnyOrderer") }
func operator[T any]() power[T]   { return is[Operator, T]("a subject that is an Operator") }

func rebaser[T any]() power[T] {
	return power[T]{"a resource that is a fence.Rebaser", func(s Subject[T]) bool {
		_, ok := s.Resource().(fence.Rebaser)
		return ok
	}}
}
