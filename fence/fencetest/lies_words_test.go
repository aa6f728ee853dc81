package fencetest_test

import (
	"errors"

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
	{name: "tells its mark under any lock's name", lie: func(l *liar) {
		l.tell = func(_ string, mark fence.Stamp) (fence.Stamp, error) { return mark, nil }
	}},
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
