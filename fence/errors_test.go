package fence_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

var kinds = []error{fence.ErrStale, fence.ErrReplayed, fence.ErrConflict, fence.ErrNoToken, fence.ErrWrongLock,
	fence.ErrUnknownOutcome, fence.ErrContended, fence.ErrDuplicate, fence.ErrBadToken, fence.ErrBadOperation}

// A refusal must say who came and who was there before, or nobody can tell a slow
// holder from a rolled-back etcd.
func TestRefusedErrorNamesBothStamps(t *testing.T) {
	b := mint(t, "orders", 0, 60, "web-2")
	for _, c := range []struct {
		mark, s fence.Stamp
		want    string
	}{
		{b.At(3), token(t, 53).At(7), "fence: stale: orders@53#7 presented, but orders@60#3 was accepted"},
		{b.At(3), b.At(2), "fence: replayed: orders@60#2 presented, but orders@60#3 was accepted"},
		{b.At(3), token(t, 60).At(4), `fence: conflict: orders@60#4 of "worker" presented, but orders@60#3 of "web-2" was accepted`},
		{b.At(3), mint(t, "bills", 1, 9, "w").At(1), `fence: wrong lock: bills@1.9#1 presented to a resource guarded by "orders", where orders@60#3 was accepted`},
		{b.At(3), fence.Stamp{}, `fence: no token: no stamp presented to a resource guarded by "orders", where orders@60#3 was accepted`},
		{fence.Stamp{}, fence.Stamp{}, `fence: no token: no stamp presented to a resource guarded by "orders"`},
	} {
		if err := fence.Judge("orders", c.mark, c.s); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// Each answer matches its own kind and no other, however often it is wrapped.
func TestErrorsAreTheirOwnKindOnly(t *testing.T) {
	for _, kind := range kinds {
		var err error = &fence.RefusedError{Lock: "orders", Presented: token(t, 1).At(1), Mark: token(t, 2).At(1), Reason: kind}
		if kind == fence.ErrDuplicate {
			err = &fence.DuplicateError{Operation: "op", Stamp: token(t, 1).At(1)}
		}
		err = fmt.Errorf("write the order: %w", errors.Join(errors.New("tried once"), err))
		for _, other := range kinds {
			if got := errors.Is(err, other); got != (kind == other) {
				t.Errorf("errors.Is(%v, %v) is %v", err, other, got)
			}
		}
		var refused *fence.RefusedError
		var done *fence.DuplicateError
		if isDuplicate := kind == fence.ErrDuplicate; errors.As(err, &done) != isDuplicate || errors.As(err, &refused) == isDuplicate {
			t.Errorf("%v: errors.As found %v and %v", err, refused, done)
		}
	}
}

func TestDuplicateErrorNamesTheOperation(t *testing.T) {
	err := &fence.DuplicateError{Operation: "pay\n42", Stamp: token(t, 53).At(7)}
	if got, want := err.Error(), `fence: duplicate operation: "pay\n42" was done by orders@53#7`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSafeToRetry(t *testing.T) {
	refused := func(reason error) error { return &fence.RefusedError{Reason: reason} }
	wrap := func(err error) error { return fmt.Errorf("write: %w", err) }
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("disk full"), false},
		{context.Canceled, false},
		{context.DeadlineExceeded, false}, // a deadline is the caller's own: asking again is its decision
		{fence.ErrContended, true},
		{fence.ErrUnknownOutcome, true},
		{wrap(fence.ErrContended), true},
		{wrap(fence.ErrUnknownOutcome), true},
		{errors.Join(errors.New("reset by peer"), fence.ErrUnknownOutcome), true},
		{fence.ErrStale, false},
		{fence.ErrReplayed, false},
		{fence.ErrConflict, false},
		{fence.ErrNoToken, false},
		{fence.ErrWrongLock, false},
		{fence.ErrDuplicate, false},
		{fence.ErrBadToken, false},
		{fence.ErrBadOperation, false},
		{&fence.DuplicateError{Operation: "op"}, false},
		{refused(fence.ErrStale), false},
		{wrap(refused(fence.ErrReplayed)), false},
		// A refusal settles it, whatever came before.
		{errors.Join(fence.ErrUnknownOutcome, refused(fence.ErrStale)), false},
		{fmt.Errorf("%w, then %w", fence.ErrContended, refused(fence.ErrConflict)), false},
		{fmt.Errorf("%w, then %w", fence.ErrContended, fence.ErrStale), false},
		{errors.Join(fence.ErrUnknownOutcome, &fence.DuplicateError{Operation: "op"}), false},
	} {
		if got := fence.SafeToRetry(c.err); got != c.want {
			t.Errorf("SafeToRetry(%v) is %v", c.err, got)
		}
	}
}

// People search logs for these words, and each must say whose they are.
func TestSentinelsSayFence(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range kinds {
		if s := kind.Error(); !strings.HasPrefix(s, "fence: ") || seen[s] {
			t.Errorf("%q", s)
		} else {
			seen[s] = true
		}
	}
}
