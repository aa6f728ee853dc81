package kit

import (
	"context"
	"errors"
	"fmt"
	"math"

	"pgregory.net/rapid"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
)

// Sequences fails the test if there is a sequence of operations, one after the other,
// whose answers or effects are not those of the rule. The library shrinks what it finds
// to a short one. Every sequence has a fresh subject; -rapid.checks says how many there
// are, for stores that are slow to make.
func Sequences[T any](t TB, factory fencetest.Factory[T]) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		s, err := factory(ctx)
		if err != nil {
			t.Fatalf("making a fresh subject: %v", err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Errorf("closing the subject: %v", err)
			}
		}()
		q := &sequence[T]{ctx: ctx, subject: s}
		actions := map[string]func(*rapid.T){
			"":             q.look,
			"apply":        q.apply,
			"claim":        q.claim,
			"apply, fails": q.fail,
		}
		if r, ok := s.(fencetest.Reopener); ok {
			actions["reopen"] = func(t *rapid.T) {
				if err := r.Reopen(ctx); err != nil {
					t.Fatalf("reopen: %v", err)
				}
			}
		}
		t.Repeat(actions)
	})
}

// sequence is one subject beside its model.
type sequence[T any] struct {
	ctx     context.Context
	subject fencetest.Subject[T]
	state   state
	count   int
}

// numbers are small, so that they meet, or where a representation ends.
var numbers = rapid.OneOf(rapid.Int64Range(1, 4), rapid.SampledFrom([]int64{
	9, 10, math.MaxUint32, 1<<53 - 1, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64,
}))

func (q *sequence[T]) stamp(t *rapid.T) fence.Stamp {
	lock := q.subject.Lock()
	switch rapid.IntRange(0, 19).Draw(t, "which") {
	case 0:
		return fence.Stamp{}
	case 1:
		lock = "another lock"
	}
	epoch := rapid.OneOf(rapid.Just(int64(0)), numbers).Draw(t, "epoch")
	owner := rapid.SampledFrom([]string{"one", "other", "ONE"}).Draw(t, "owner")
	return token(lock, epoch, numbers.Draw(t, "revision"), owner).At(numbers.Draw(t, "sequence"))
}

func (q *sequence[T]) apply(t *rapid.T) {
	q.count++
	q.expect(t, input{kind: apply, stamp: q.stamp(t), value: fmt.Sprint("value ", q.count)})
}

func (q *sequence[T]) claim(t *rapid.T) {
	q.expect(t, input{kind: claim, stamp: q.stamp(t).Token().At(0)})
}

// look compares data and mark after every step.
func (q *sequence[T]) look(t *rapid.T) {
	q.expect(t, input{kind: mark})
	q.expect(t, input{kind: read})
}

// expect asks, with the same stamp again after a lost reply, and compares the answer
// with the model's.
func (q *sequence[T]) expect(t *rapid.T, in input) {
	in.lock = q.subject.Lock()
	want, after := in.step(q.state)
	got := ask(q.ctx, q.subject, q.subject.Resource(), in)
	for lost := got.unknown; lost && got.unknown; {
		got = ask(q.ctx, q.subject, q.subject.Resource(), in)
		var refused *fence.RefusedError
		if errors.Is(got.err, fence.ErrReplayed) && errors.As(got.err, &refused) && refused.Mark == in.stamp {
			got.err = nil
		}
	}
	if !got.agrees(want) {
		t.Fatalf("%v: got %v, want %v", in, got, want)
	}
	q.state = after
}

// fail applies a change that writes and then fails.
func (q *sequence[T]) fail(t *rapid.T) {
	failed := errors.New("the change failed")
	s := q.stamp(t)
	var err error
	for {
		err = q.subject.Resource().Apply(q.ctx, s, func(ctx context.Context, tx T) error {
			return errors.Join(failed, q.subject.Write(ctx, tx, "half"))
		})
		if !fence.SafeToRetry(err) {
			break
		}
	}
	if err == nil {
		t.Fatalf("apply %v: the change failed, and nothing was said", s)
	}
	if refused := fence.Judge(q.subject.Lock(), q.state.mark, s); refused == nil && !errors.Is(err, failed) {
		t.Fatalf("apply %v: got %v, want the error of the change", s, err)
	}
}

func token(lock string, epoch, revision int64, owner string) fence.Token {
	t, err := fence.NewToken(lock, epoch, revision, owner)
	if err != nil {
		panic(err) // the numbers and names are this kit's own
	}
	return t
}
