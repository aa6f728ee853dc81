package fencetest

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/etcdfence/etcdfence/fence"
)

// Operation ids, for subjects that have them: recorded in the same step, looked at
// after the fence.
func operationCases[T any]() []testCase[T] {
	can := []power[T]{operator[T]()}
	return []testCase[T]{
		{rule: "operation", name: "a-repeat-gets-its-own-answer", needs: can, run: repeatAnswered[T]},
		{rule: "operation", name: "a-known-id-helps-no-old-stamp", needs: can, run: knownIDOld[T]},
		{rule: "operation", name: "a-fresh-id-helps-no-old-stamp", needs: can, run: freshIDOld[T]},
		{rule: "operation", name: "a-duplicate-consumes-no-stamp", needs: can, run: duplicateKeeps[T]},
		{rule: "operation", name: "a-failed-one-is-not-recorded", needs: can, run: failedOperation[T]},
		{rule: "operation", name: "malformed-ids-are-refused", needs: can, run: badOperation[T]},
		{rule: "operation", name: "ids-and-results-keep-their-bytes", needs: can, run: operationBytes[T]},
		{rule: "operation", name: "one-id-many-senders", needs: can, run: operationRace[T]},
		{rule: "operation", name: "reopen-keeps-the-answer", needs: []power[T]{operator[T](), reopener[T]()}, run: operationReopen[T]},
	}
}

// operate applies under an operation id. An empty result is set too: nothing and
// nothing yet are different.
func (c caller[T]) operate(s fence.Stamp, id, value string, result []byte) outcome {
	ctx := fence.WithOperation(c.ctx, id)
	return c.applyWith(ctx, s, value, func(ctx context.Context, tx T) error {
		fence.OperationFrom(ctx).SetResult(result)
		return c.subject.Write(ctx, tx, value)
	})
}

// duplicate ends the case if err is not the answer that was given before.
func (c caller[T]) duplicate(err error, id string, s fence.Stamp, result []byte) {
	var d *fence.DuplicateError
	switch {
	case !errors.Is(err, fence.ErrDuplicate) || !errors.As(err, &d):
		c.failf("operation %.40q was done before; got %v, want a *fence.DuplicateError", id, err)
	case fence.SafeToRetry(err):
		c.failf("the answer %q says that it is worth a retry", err)
	case d.Operation != id || d.Stamp != s:
		c.failf("operation %.40q was done by %v; the answer names %.40q and %v", id, describe(s), d.Operation, describe(d.Stamp))
	case !bytes.Equal(d.Result, result):
		c.failf("operation %.40q was answered with %q; a repeat gets %q", id, result, d.Result)
	}
}

func repeatAnswered[T any](r *run[T]) {
	c := r.main()
	s := r.at(5, 1)
	if o := c.operate(s, "pay 1", "paid", []byte("receipt 1")); o.err != nil {
		r.failf("a fresh operation: %v", o.err)
	}
	c.operate(r.at(5, 2), "pay 2", "paid 2", []byte("receipt 2"))
	for _, next := range []fence.Stamp{r.at(5, 3), r.at(6, 1)} { // the same hold, and a later holder
		c.duplicate(c.operate(next, "pay 1", "paid twice", []byte("another receipt")).err, "pay 1", s, []byte("receipt 1"))
		c.holds("paid 2", "after a repeated operation")
	}
}

// The fence comes first: who is stale is told so, even if the work was done.
func knownIDOld[T any](r *run[T]) {
	c := r.main()
	c.operate(r.at(5, 1), "pay", "paid", nil)
	c.accept(r.at(6, 1), "newer")
	for _, s := range []fence.Stamp{r.at(5, 2), r.at(6, 1), r.token(0, 6, "other").At(2), {}} {
		o := c.operate(s, "pay", "late", nil)
		if o.answer == nil || errors.Is(o.answer, fence.ErrDuplicate) {
			r.failf("%v is refused by the fence whatever its operation is; got %v", s, o.answer)
		}
	}
}

func freshIDOld[T any](r *run[T]) {
	c := r.main()
	c.operate(r.at(5, 1), "pay 1", "paid", nil)
	c.accept(r.at(6, 1), "newer")
	if o := c.operate(r.at(5, 2), "pay 2", "late", nil); o.err == nil {
		r.failf("an old stamp was accepted because its operation id is fresh")
	}
	if o := c.operate(r.at(6, 2), "pay 2", "paid", nil); o.err != nil {
		r.failf("the operation was only ever refused, yet now it is answered %v", o.err)
	}
}

func duplicateKeeps[T any](r *run[T]) {
	c := r.main()
	done := r.at(5, 1)
	c.operate(done, "pay", "paid", nil)
	for _, s := range []fence.Stamp{r.at(5, 9), r.at(8, 1)} {
		c.operate(s, "pay", "paid twice", nil)
		c.marked(done, "after a duplicate")
	}
	for _, s := range []fence.Stamp{r.at(5, 2), r.at(5, 9), r.at(6, 1), r.at(8, 1)} {
		if o := c.apply(s, "next"); o.err != nil {
			r.failf("a duplicate came with %v or a newer stamp, which consumes nothing, yet now it is refused: %v", s, o.err)
		}
	}
}

// A change that fails leaves no answer behind, neither recorded nor in the context.
func failedOperation[T any](r *run[T]) {
	c := r.main()
	ctx := fence.WithOperation(r.ctx, "pay")
	c.applyWith(ctx, r.at(5, 1), "half", func(ctx context.Context, tx T) error {
		fence.OperationFrom(ctx).SetResult([]byte("half a receipt"))
		return c.failing("half")(ctx, tx)
	})
	if o := c.applyWith(ctx, r.at(5, 2), "paid", c.set("paid")); o.err != nil {
		r.failf("the operation has failed before, so it is not done; got %v", o.err)
	}
	c.duplicate(c.operate(r.at(5, 3), "pay", "paid twice", nil).err, "pay", r.at(5, 2), nil)
}

func badOperation[T any](r *run[T]) {
	c := r.main()
	for _, id := range []string{"", strings.Repeat("x", fence.MaxOperation+1), "line\nfeed", "nul\x00", "\xff", "\uFFFD"} {
		if o := c.operate(r.at(5, 1), id, "bad", nil); !errors.Is(o.err, fence.ErrBadOperation) || fence.SafeToRetry(o.err) {
			r.failf("operation id %.40q: got %v, want %q", id, o.err, fence.ErrBadOperation)
		}
		c.holds("", "after a malformed operation id")
	}
	if o := c.apply(r.at(5, 1), "good"); o.err != nil {
		r.failf("the stamp came with malformed operation ids before, which consumes nothing: %v", o.err)
	}
}
