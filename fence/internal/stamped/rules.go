package stamped

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// Found is what the store has at the moment.
type Found struct {
	Value
	Exists bool   // the value is there; without a mark only if Err says why
	Err    error  // it can be replaced, but not judged: it was deleted, or is foreign
	Raw    []byte // all of it
}

// Edit makes the next value of what was found. It may be asked several times.
type Edit func(Found) (Value, error)

// ErrUnchanged is what an edit says that has nothing to write.
var ErrUnchanged = errors.New("there is nothing to write")

// Rules decide about one value. It is like fence's memory.go, on a value that is replaced.
type Rules struct {
	Lock     string
	Where    string // what the value is in, for errors: `natsfence: the key "a"`
	Keep     int    // how many operations
	AnyOrder bool
}

// Change is a change of the body: it returns the next one. The body that it is given is
// nobody's to change.
type Change func(ctx context.Context, body []byte, exists bool) (next []byte, err error)

// Apply returns the edit of [fence.FencedResource]'s Apply. change may run several times.
func (r *Rules) Apply(ctx context.Context, s fence.Stamp, change Change) (Edit, error) {
	op := fence.OperationFrom(ctx)
	if op != nil {
		if err := op.Check(); err != nil {
			return nil, err
		}
	}
	rule := fence.Judge
	if r.AnyOrder {
		rule = fence.JudgeAnyOrder
	}
	return func(found Found) (Value, error) {
		if err := r.admit(found, s, rule); err != nil {
			return Value{}, err
		}
		next := found.Value
		if op != nil {
			if err := found.done(op); err != nil {
				return Value{}, err
			}
			op.SetResult(nil) // an earlier attempt that failed must not leave its answer behind
		}
		var err error
		if next.Body, err = change(ctx, found.Body, found.Exists); err != nil {
			return Value{}, err
		}
		if op != nil {
			next.Operations = record(found.Operations, Operation{op.ID(), s, op.Result()}, r.Keep)
		}
		if next.Mark.Compare(s) < 0 { // always, but in any order
			next.Mark = s
		}
		return next, nil
	}, nil
}

// Claim returns the edit of Claim. A repeated claim is [ErrUnchanged].
func (r *Rules) Claim(t fence.Token) Edit {
	return func(found Found) (Value, error) {
		if !t.IsZero() && t == found.Mark.Token() {
			return Value{}, ErrUnchanged // claimed before, or written already
		}
		if err := r.admit(found, t.At(0), fence.Judge); err != nil {
			return Value{}, err
		}
		next := found.Value
		next.Mark = t.At(0)
		return next, nil
	}
}

// Rebase returns the edit of [fence.Rebaser]. From the zero Stamp it also gives a mark to
// what has none: what is there, if anything, becomes the body.
func (r *Rules) Rebase(from, to fence.Stamp) (Edit, error) {
	if err := fence.CheckRebase(r.Lock, from, to); err != nil {
		return nil, err
	}
	return func(found Found) (Value, error) {
		if found.Err != nil && from.IsZero() {
			return Value{Mark: to, Body: found.Raw}, nil
		}
		if err := r.Ours(found, to); err != nil {
			return Value{}, err
		}
		if found.Mark != from {
			return Value{}, &fence.RefusedError{Lock: r.Lock, Presented: from, Mark: found.Mark, Reason: fence.ErrMoved}
		}
		next := found.Value
		next.Mark = to
		return next, nil
	}, nil
}

// CheckMark is what Mark refuses before it looks: a lock that cannot be one, or another.
func (r *Rules) CheckMark(lock string) error {
	if err := fence.CheckLock(lock); err != nil {
		return err
	}
	if lock != r.Lock {
		return fmt.Errorf("mark of %q: %w", lock, &fence.RefusedError{Lock: r.Lock, Reason: fence.ErrWrongLock})
	}
	return nil
}

// admit judges a stamp against what was found.
func (r *Rules) admit(found Found, s fence.Stamp, rule func(lock string, mark, s fence.Stamp) error) error {
	if err := fence.Judge(r.Lock, fence.Stamp{}, s); err != nil && found.Err != nil {
		return err // no stamp of ours, whatever is there
	}
	if err := r.Ours(found, s); err != nil {
		return err
	}
	return rule(r.Lock, found.Mark, s)
}

// Ours is nil if there is a mark of this lock, or the value never was.
func (r *Rules) Ours(found Found, s fence.Stamp) error {
	if found.Err != nil {
		return found.Err
	}
	if mark := found.Mark; !mark.IsZero() && mark.Token().Lock() != r.Lock {
		return fmt.Errorf("%s is guarded by another lock: %w", r.Where,
			&fence.RefusedError{Lock: mark.Token().Lock(), Presented: s, Mark: mark, Reason: fence.ErrWrongLock})
	}
	return nil
}
