package fencetest_test

import (
	"context"
	"errors"
	"strings"

	"github.com/etcdfence/etcdfence/fence"
)

// Lies in what a resource may do besides: operation ids, any order, rebases.
var otherLies = []row{
	{name: "looks at the operation id before the fence", lie: func(l *liar) { l.idFirst = true }},
	{name: "takes a fresh operation id for a right to write", lie: func(l *liar) {
		l.around = func(honest liarApply) liarApply {
			return func(ctx context.Context, s fence.Stamp, change liarChange) error {
				err := honest(ctx, s, change)
				if op := fence.OperationFrom(ctx); op == nil || !errors.Is(err, fence.ErrStale) || l.ops[op.ID()].Operation != "" {
					return err
				}
				return l.apply(ctx, s, change, never)
			}
		}
	}},
	{name: "does not record operations", lie: func(l *liar) {
		l.record = func(*state, *fence.Operation, fence.Stamp) {}
	}},
	{name: "consumes the stamp of a duplicate", lie: func(l *liar) {
		honest := l.known
		l.known = func(st *state, op *fence.Operation, s fence.Stamp) error {
			err := honest(st, op, s)
			if err != nil {
				st.mark = s
			}
			return err
		}
	}},
	{name: "answers a duplicate with success", lie: func(l *liar) {
		l.around = func(honest liarApply) liarApply {
			return func(ctx context.Context, s fence.Stamp, change liarChange) error {
				if err := honest(ctx, s, change); !errors.Is(err, fence.ErrDuplicate) {
					return err
				}
				return nil
			}
		}
	}},
	{name: "records an operation that failed", lie: func(l *liar) {
		l.around = func(honest liarApply) liarApply {
			return func(ctx context.Context, s fence.Stamp, change liarChange) error {
				op := fence.OperationFrom(ctx)
				return honest(ctx, s, func(ctx context.Context, tx *liarTx) error {
					err := change(ctx, tx)
					if err != nil && op != nil {
						l.record(&l.state, op, s)
					}
					return err
				})
			}
		}
	}},
	{name: "keeps the result of a failed attempt", lie: func(l *liar) { l.begin = func(*fence.Operation) {} }},
	{name: "takes any operation id", lie: func(l *liar) {
		l.checkOp = func(*fence.Operation) error { return nil }
	}},
	{name: "takes operation ids for equal that differ in case", lie: func(l *liar) { l.key = strings.ToLower }},
	{name: "cuts results at a zero byte", lie: func(l *liar) {
		l.record = func(st *state, op *fence.Operation, s fence.Stamp) {
			text, _, _ := strings.Cut(string(op.Result()), "\x00")
			st.ops[op.ID()] = fence.DuplicateError{Operation: op.ID(), Stamp: s, Result: []byte(text)}
		}
	}},
	{name: "gives its record of a result away", lie: func(l *liar) {
		l.known = func(st *state, op *fence.Operation, _ fence.Stamp) error {
			if d, ok := st.ops[op.ID()]; ok {
				return &d
			}
			return nil
		}
	}},
	{name: "forgets operations on reopen", lie: func(l *liar) {
		l.reopen = func(st *state) { st.ops = map[string]fence.DuplicateError{} }
	}},
	{name: "calls the strict guard any order", lie: func(l *liar) { l.anyOrder = fence.Judge }},
	{name: "takes any order for anything", lie: func(l *liar) { l.anyOrder = never }},
	{name: "lets other owners in, in any order", lie: func(l *liar) {
		l.anyOrder = func(lock string, mark, s fence.Stamp) error {
			if !s.IsZero() && s.Token().Compare(mark.Token()) == 0 {
				return nil
			}
			return fence.JudgeAnyOrder(lock, mark, s)
		}
	}},
	{name: "rebases from anywhere", lie: func(l *liar) {
		l.rebased = func(fence.Stamp, fence.Stamp) bool { return true }
	}},
	{name: "compares tokens for a rebase", lie: func(l *liar) {
		l.rebased = func(mark, from fence.Stamp) bool { return mark.Token() == from.Token() }
	}},
	{name: "compares numbers for a rebase", lie: func(l *liar) {
		l.rebased = func(mark, from fence.Stamp) bool { return mark.Compare(from) == 0 }
	}},
}
