package fencetest_test

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/etcdfence/etcdfence/fence"
)

// Lies in the comparison.
var fenceLies = []row{
	{name: "accepts everything", lie: func(l *liar) { l.judge, l.claim, l.anyOrder = never, never, never }},
	{name: "refuses equal only", lie: func(l *liar) {
		l.judge = except(func(mark, s fence.Stamp) bool { return s != mark && s.Token().Lock() == liarLock })
	}},
	{name: "accepts equal", lie: func(l *liar) {
		l.judge = except(func(mark, s fence.Stamp) bool { return s == mark && !s.IsZero() })
	}},
	{name: "looks at the token only", lie: func(l *liar) {
		l.judge = except(func(mark, s fence.Stamp) bool { return s.Token() == mark.Token() && !s.IsZero() })
	}},
	{name: "ignores the owner", lie: func(l *liar) {
		l.judge = translated(func(s fence.Stamp) fence.Stamp {
			return as(s.Token(), s.Token().Epoch(), s.Token().Revision(), "x").At(s.Sequence())
		})
		l.claim = l.judge
	}},
	{name: "takes owners for equal that differ in case", lie: func(l *liar) {
		l.judge = translated(func(s fence.Stamp) fence.Stamp {
			return as(s.Token(), s.Token().Epoch(), s.Token().Revision(), strings.ToLower(s.Token().Owner())).At(s.Sequence())
		})
	}},
	{name: "ignores the epoch", lie: func(l *liar) {
		l.judge = translated(func(s fence.Stamp) fence.Stamp {
			return as(s.Token(), 0, s.Token().Revision(), s.Token().Owner()).At(s.Sequence())
		})
	}},
	{name: "compares the revision before the epoch", lie: func(l *liar) {
		l.judge = by(func(s fence.Stamp) [3]int64 {
			return [3]int64{s.Token().Revision(), s.Token().Epoch(), s.Sequence()}
		}, cmp.Compare[int64])
	}},
	{name: "compares the sequence before the revision", lie: func(l *liar) {
		l.judge = by(func(s fence.Stamp) [3]int64 {
			return [3]int64{s.Token().Epoch(), s.Sequence(), s.Token().Revision()}
		}, cmp.Compare[int64])
	}},
	{name: "compares as float64", lie: func(l *liar) {
		l.judge = by(numbers, func(a, b int64) int { return cmp.Compare(float64(a), float64(b)) })
	}},
	{name: "compares as text", lie: func(l *liar) {
		l.judge = by(numbers, func(a, b int64) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}},
	{name: "compares 32 bits", lie: func(l *liar) {
		l.judge = by(numbers, func(a, b int64) int { return cmp.Compare(uint32(a), uint32(b)) })
	}},
	{name: "accepts every lock", lie: func(l *liar) {
		l.judge = except(func(_, s fence.Stamp) bool { return !s.IsZero() && s.Token().Lock() != liarLock })
		l.claim = l.judge
	}},
	{name: "takes locks for equal that differ in case", lie: func(l *liar) {
		l.judge = except(func(_, s fence.Stamp) bool {
			return s.Token().Lock() != liarLock && strings.EqualFold(s.Token().Lock(), liarLock)
		})
	}},
	{name: "lets a request without a token pass", lie: func(l *liar) {
		l.judge = except(func(_, s fence.Stamp) bool { return s.IsZero() })
		honest := l.done
		l.done = func(st *state, s fence.Stamp, err error, value string) {
			mark := st.mark
			if honest(st, s, err, value); s.IsZero() {
				st.mark = mark
			}
		}
	}},
	{name: "lets nobody write before a claim", lie: func(l *liar) {
		l.judge = func(lock string, mark, s fence.Stamp) error {
			if mark.IsZero() {
				return &fence.RefusedError{Lock: lock, Presented: s, Reason: fence.ErrStale}
			}
			return fence.Judge(lock, mark, s)
		}
	}},
	{name: "takes gaps for losses", lie: func(l *liar) {
		l.judge = func(lock string, mark, s fence.Stamp) error {
			if s.Token() == mark.Token() && s.Sequence() > mark.Sequence()+1 {
				return &fence.RefusedError{Lock: lock, Presented: s, Mark: mark, Reason: fence.ErrReplayed}
			}
			return fence.Judge(lock, mark, s)
		}
	}},
}

func numbers(s fence.Stamp) [3]int64 {
	return [3]int64{s.Token().Epoch(), s.Token().Revision(), s.Sequence()}
}

// by is the rule with other numbers or another comparison of them.
func by(of func(fence.Stamp) [3]int64, compare func(a, b int64) int) stampRule {
	return func(lock string, mark, s fence.Stamp) error {
		if err := fence.Judge(lock, fence.Stamp{}, s); err != nil || mark.IsZero() {
			return err
		}
		refused := &fence.RefusedError{Lock: lock, Presented: s, Mark: mark, Reason: fence.ErrStale}
		a, b := of(s), of(mark)
		generation := cmp.Or(compare(a[0], b[0]), compare(a[1], b[1]))
		order := cmp.Or(generation, compare(a[2], b[2]))
		switch {
		case generation == 0 && s.Token().Owner() != mark.Token().Owner():
			refused.Reason = fence.ErrConflict
		case order > 0:
			return nil
		case s.Token().Compare(mark.Token()) == 0:
			refused.Reason = fence.ErrReplayed
		}
		return refused
	}
}
