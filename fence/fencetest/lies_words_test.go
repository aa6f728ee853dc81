package fencetest_test

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/etcdfence/etcdfence/fence"
)

// Lies in what is told.
var wordLies = []row{
	{name: "refuses with a plain error", lie: func(l *liar) {
		l.refused = func(err error) error { return errors.New(err.Error()) }
	}},
	{name: "refuses with the sentinel alone", lie: func(l *liar) {
		l.refused = errors.Unwrap
	}},
	{name: "calls everything stale", lie: func(l *liar) {
		l.refused = refusedWith(func(r *fence.RefusedError) { r.Reason = fence.ErrStale })
	}},
	{name: "names the wrong mark", lie: func(l *liar) {
		l.refused = refusedWith(func(r *fence.RefusedError) { r.Mark = r.Mark.Token().At(r.Mark.Sequence() + 1) })
	}},
	{name: "names no stamp", lie: func(l *liar) {
		l.refused = refusedWith(func(r *fence.RefusedError) { r.Presented = fence.Stamp{} })
	}},
	{name: "swaps the stamps", lie: func(l *liar) {
		l.refused = refusedWith(func(r *fence.RefusedError) { r.Presented, r.Mark = r.Mark, r.Presented })
	}},
	{name: "names the presented lock", lie: func(l *liar) {
		l.refused = refusedWith(func(r *fence.RefusedError) { r.Lock = r.Presented.Token().Lock() })
	}},
	{name: "tells a mark without its sequence", lie: func(l *liar) {
		l.tell = telling(l.tell, func(mark fence.Stamp) fence.Stamp { return mark.Token().At(0) })
	}},
	{name: "tells a mark without its epoch", lie: func(l *liar) {
		l.tell = telling(l.tell, func(mark fence.Stamp) fence.Stamp {
			t := mark.Token()
			return as(t, 0, t.Revision(), t.Owner()).At(mark.Sequence())
		})
	}},
	{name: "tells a rounded mark", lie: func(l *liar) {
		l.tell = telling(l.tell, func(mark fence.Stamp) fence.Stamp {
			t, revision := mark.Token(), mark.Token().Revision()
			if revision > 1<<53 {
				revision &^= 1
			}
			return as(t, t.Epoch(), revision, t.Owner()).At(mark.Sequence())
		})
	}},
	{name: "finds out by itself what became of a lost reply", lie: func(l *liar) {
		l.lost = func(fence.Stamp) error { return nil } // no lie
	}},
	{name: "is contended and loses replies now and then", lie: flaky}, // no lie
	{name: "tells a lost reply as a plain error", lie: func(l *liar) {
		l.lost = func(fence.Stamp) error { return errors.New("connection reset") }
	}},
	{name: "tells a lost reply as contention", lie: func(l *liar) {
		l.lost = func(fence.Stamp) error { return fence.ErrContended }
	}},
	{name: "sends again by itself and tells the second answer", lie: func(l *liar) {
		l.lost = func(s fence.Stamp) error { return fence.Judge(liarLock, s, s) }
	}},
	{name: "tells its mark under any lock's name", lie: func(l *liar) {
		l.tell = func(_ string, mark fence.Stamp) (fence.Stamp, error) { return mark, nil }
	}},
}

// flaky makes an honest resource a difficult one.
func flaky(l *liar) {
	l.around = func(honest liarApply) liarApply {
		return func(ctx context.Context, s fence.Stamp, change liarChange) error {
			switch rand.IntN(5) {
			case 0:
				return fence.ErrContended
			case 1:
				return fence.ErrUnknownOutcome // it did not happen
			case 2:
				if err := honest(ctx, s, change); err != nil {
					return err
				}
				return fence.ErrUnknownOutcome // it did
			}
			return honest(ctx, s, change)
		}
	}
	l.look = func(ctx context.Context) error {
		if err := ctx.Err(); err != nil || rand.IntN(5) > 0 {
			return err
		}
		return fence.ErrContended
	}
}

func telling(honest func(string, fence.Stamp) (fence.Stamp, error), change func(fence.Stamp) fence.Stamp) func(string, fence.Stamp) (fence.Stamp, error) {
	return func(lock string, mark fence.Stamp) (fence.Stamp, error) {
		mark, err := honest(lock, mark)
		if err != nil || mark.IsZero() {
			return mark, err
		}
		return change(mark), nil
	}
}
