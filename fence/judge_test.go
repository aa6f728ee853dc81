package fence_test

import (
	"errors"
	"math"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

// Every row of the rule, as the design's table has it. Above 2^53 neighbours are
// one and the same double.
func TestJudge(t *testing.T) {
	const top, double = math.MaxInt64, int64(1) << 53
	at := func(epoch, revision, sequence int64) fence.Stamp {
		return mint(t, "orders", epoch, revision, "a").At(sequence)
	}
	other := func(epoch, revision, sequence int64) fence.Stamp {
		return mint(t, "orders", epoch, revision, "b").At(sequence)
	}
	foreign := mint(t, "bills", 9, 9, "a").At(9)
	none := fence.Stamp{}
	for _, c := range []struct {
		name    string
		mark, s fence.Stamp
		want    error
	}{
		{"first ever, a claim", none, at(0, 1, 0), nil},
		{"first ever, a write", none, at(0, 1, 1), nil},
		{"first ever, the largest", none, at(top, top, top), nil},

		{"older revision", at(0, 2, 0), at(0, 1, 0), fence.ErrStale},
		{"newer revision", at(0, 1, 0), at(0, 2, 0), nil},
		{"older revision, higher sequence", at(0, 2, 1), at(0, 1, 99), fence.ErrStale},
		{"newer revision, lower sequence", at(0, 1, 99), at(0, 2, 0), nil},
		{"older revision, other owner", at(0, 2, 1), other(0, 1, 1), fence.ErrStale},
		{"newer revision, other owner", at(0, 1, 1), other(0, 2, 1), nil},

		{"older epoch, higher revision", at(1, 3, 0), at(0, 53, 7), fence.ErrStale},
		{"newer epoch, lower revision", at(0, 53, 7), at(1, 3, 0), nil},
		{"newer epoch, other owner", at(0, 53, 7), other(1, 53, 7), nil},

		{"the same stamp", at(0, 1, 1), at(0, 1, 1), fence.ErrReplayed},
		{"the same claim", at(0, 1, 0), at(0, 1, 0), fence.ErrReplayed},
		{"older sequence", at(0, 1, 2), at(0, 1, 1), fence.ErrReplayed},
		{"newer sequence", at(0, 1, 1), at(0, 1, 2), nil},
		{"newer sequence, with a gap", at(0, 1, 1), at(0, 1, 9), nil},
		{"sequence of a later claim", at(0, 1, 1), at(0, 1, 0), fence.ErrReplayed},

		{"other owner, same sequence", at(0, 1, 1), other(0, 1, 1), fence.ErrConflict},
		{"other owner, lower sequence", at(0, 1, 1), other(0, 1, 0), fence.ErrConflict},
		{"other owner, higher sequence", at(0, 1, 1), other(0, 1, 2), fence.ErrConflict},
		{"other owner, epoch 1", at(1, 1, 1), other(1, 1, 2), fence.ErrConflict},

		{"no stamp, no mark", none, none, fence.ErrNoToken},
		{"no stamp", at(0, 1, 1), none, fence.ErrNoToken},
		{"other lock, no mark", none, foreign, fence.ErrWrongLock},
		{"other lock, newer", at(0, 1, 1), foreign, fence.ErrWrongLock},
		{"other lock, older", at(10, 1, 1), foreign, fence.ErrWrongLock},

		{"revision past 2^53, older", at(0, double+1, 0), at(0, double, 0), fence.ErrStale},
		{"revision past 2^53, newer", at(0, double, 0), at(0, double+1, 0), nil},
		{"sequence past 2^53, older", at(0, 1, double+1), at(0, 1, double), fence.ErrReplayed},
		{"sequence past 2^53, newer", at(0, 1, double), at(0, 1, double+1), nil},
		{"epoch past 2^53, older", at(double+1, 1, 0), at(double, 2, 0), fence.ErrStale},
		{"epoch past 2^53, newer", at(double, 2, 0), at(double+1, 1, 0), nil},
		{"largest revision, older", at(0, top, 0), at(0, top-1, 9), fence.ErrStale},
		{"largest revision, newer", at(0, top-1, 9), at(0, top, 0), nil},
		{"largest sequence, newer", at(0, 1, top-1), at(0, 1, top), nil},
		{"the largest against itself", at(top, top, top), at(top, top, top), fence.ErrReplayed},
		{"the largest against the smallest", at(top, top, top), at(0, 1, 0), fence.ErrStale},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := fence.Judge("orders", c.mark, c.s)
			if c.want == nil {
				mustBe(t, "Judge", err, nil)
				return
			}
			var refused *fence.RefusedError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want a *RefusedError", err)
			}
			if want := (fence.RefusedError{Lock: "orders", Presented: c.s, Mark: c.mark, Reason: c.want}); *refused != want {
				t.Errorf("got %+v, want %+v", *refused, want)
			}
		})
	}
}

// Of two different stamps of one lock and one history exactly one is newer, and no
// stamp is newer than itself: whichever order they arrive in, one order results.
func TestJudgeIsAStrictOrder(t *testing.T) {
	var all []fence.Stamp
	for _, epoch := range []int64{0, 1, math.MaxInt64} {
		for _, revision := range []int64{1, 2, 1<<53 + 1, math.MaxInt64} {
			for _, sequence := range []int64{0, 1, math.MaxInt64} {
				all = append(all, mint(t, "orders", epoch, revision, "a").At(sequence))
			}
		}
	}
	for i, mark := range all {
		for j, s := range all {
			if passed := fence.Judge("orders", mark, s) == nil; passed != (j > i) {
				t.Errorf("%v against the mark %v: accepted is %v", s, mark, passed)
			}
			if got, want := s.Compare(mark), sign(j-i); got != want {
				t.Errorf("%v.Compare(%v) = %d, want %d", s, mark, got, want)
			}
		}
	}
}

func sign(n int) int { return min(1, max(-1, n)) }
