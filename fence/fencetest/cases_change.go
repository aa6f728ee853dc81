package fencetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// R4: a change that fails leaves data and mark where they were.
func changeCases[T any]() []testCase[T] {
	return []testCase[T]{
		{rule: "R4", name: "failing-change-leaves-the-data", run: failingData[T]},
		{rule: "R4", name: "failing-change-leaves-the-mark", run: failingMark[T]},
		{rule: "R4", name: "failing-first-change-leaves-nothing", run: failingFirst[T]},
		{rule: "R4", name: "the-error-of-the-change-comes-back", run: failingError[T]},
		{rule: "R4", name: "panicking-change-leaves-everything", run: panicking[T]},
		{rule: "R4", name: "refused-change-has-no-effect", run: refusedChange[T]},
	}
}

func failingData[T any](r *run[T]) {
	c := r.main()
	c.accept(r.at(5, 1), "before")
	for _, s := range []fence.Stamp{r.at(5, 2), r.at(9, 1)} {
		if o := c.applyWith(r.ctx, s, "half", c.failing("half")); o.err == nil {
			r.failf("the change of %v failed, and Apply said nothing", s)
		}
		c.holds("before", "after a change that wrote and then failed")
	}
}

// The stamp is not consumed: it may be sent again, and what is older than it but newer
// than the mark may still come.
func failingMark[T any](r *run[T]) {
	c := r.main()
	first := r.at(5, 1)
	c.accept(first, "before")
	c.applyWith(r.ctx, r.at(9, 3), "half", c.failing("half"))
	c.marked(first, "after a change that failed")
	c.applyWith(r.ctx, r.at(5, 9), "half", c.failing("half"))
	c.marked(first, "after a change that failed")
	for _, s := range []fence.Stamp{r.at(5, 2), r.at(5, 9), r.at(6, 1), r.at(9, 3)} {
		if o := c.apply(s, valueOf(s)); o.err != nil {
			r.failf("a change failed with %v or a newer stamp, which consumes nothing, yet now it is refused: %v", s, o.err)
		}
	}
}

func failingFirst[T any](r *run[T]) {
	c := r.main()
	c.applyWith(r.ctx, r.at(9, 3), "half", c.failing("half"))
	c.holds("", "after a first change that failed")
	c.marked(fence.Stamp{}, "after a first change that failed")
	if o := c.apply(r.at(1, 1), "first"); o.err != nil {
		r.failf("the only change so far has failed, yet the next is refused: %v", o.err)
	}
}

// The caller must recognise its own error, and not take it for an answer of the fence.
func failingError[T any](r *run[T]) {
	c := r.main()
	c.accept(r.at(5, 1), "before")
	own := fmt.Errorf("with a cause: %w", errChange)
	o := c.applyWith(r.ctx, r.at(5, 2), "", func(context.Context, T) error { return own })
	switch {
	case !errors.Is(o.err, errChange):
		r.failf("the change failed with %q, and Apply answered %v", own, o.err)
	case fence.SafeToRetry(o.err) || isAny(o.err, answers...):
		r.failf("the change failed with %q, and Apply made it an answer of the fence: %v", own, o.err)
	}
}

// answers are the words that only the resource itself may use.
var answers = []error{fence.ErrStale, fence.ErrReplayed, fence.ErrConflict, fence.ErrNoToken, fence.ErrWrongLock,
	fence.ErrUnknownOutcome, fence.ErrContended, fence.ErrDuplicate, fence.ErrMoved, fence.ErrBadToken, fence.ErrBadOperation}

// A panic may come through or be made an error; the resource stays usable either way.
func panicking[T any](r *run[T]) {
	c := r.main()
	first, second := r.at(5, 1), r.at(5, 2)
	c.accept(first, "before")
	call := r.log.begin(Call{Who: "main", Call: "Apply of a change that panics", Stamp: second, Value: "half"})
	err := func() (err error) {
		defer caught(&err)
		return c.resource.Apply(r.ctx, second, func(ctx context.Context, tx T) error {
			if err := c.subject.Write(ctx, tx, "half"); err != nil {
				return err
			}
			panic("the change panics")
		})
	}()
	if err == nil {
		r.log.end(call, nil, nil)
		r.failf("a change has panicked, and Apply said nothing")
	}
	r.log.end(call, errors.New("a panic, as it should be"), nil)
	c.holds("before", "after a change that panicked")
	c.marked(first, "after a change that panicked")
	if o := c.apply(second, "after"); o.err != nil {
		r.failf("a change has panicked, which consumes no stamp, yet now it is refused: %v", o.err)
	}
	c.holds("after", "after the next write")
}

// Some stores run the change before they know that the stamp is refused. That is
// allowed; an effect is not, whatever the change itself returns.
func refusedChange[T any](r *run[T]) {
	c := r.main()
	c.accept(r.at(5, 5), "before")
	stamps := []fence.Stamp{r.at(4, 9), r.at(5, 5), r.at(5, 1), r.token(0, 5, "other").At(6), {}}
	for _, s := range append(stamps, r.otherLock()...) {
		before := c.read()
		if o := c.apply(s, "refused"); o.err == nil {
			continue // a matter of other rules
		}
		c.holds(before, "after a refused change")
		c.applyWith(r.ctx, s, "refused", c.failing("refused"))
		c.holds(before, "after a refused change that failed too")
	}
}
