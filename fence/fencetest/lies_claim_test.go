package fencetest_test

import "github.com/etcdfence/etcdfence/fence"

// Lies in claims.
var claimLies = []row{
	{name: "claims without raising the mark", lie: func(l *liar) {
		l.claimed = func(*state, fence.Token) {}
	}},
	{name: "ignores a claim that comes first", lie: func(l *liar) {
		l.claimed = func(st *state, t fence.Token) {
			if !st.mark.IsZero() {
				st.mark = t.At(0)
			}
		}
	}},
	{name: "claims whatever is older", lie: func(l *liar) {
		l.claim = except(func(_, s fence.Stamp) bool { return s.Token().Lock() == liarLock })
		l.claimed = func(st *state, t fence.Token) {
			if st.mark.Token().Compare(t) < 0 {
				st.mark = t.At(0)
			}
		}
	}},
	{name: "lowers the mark for an older claim", lie: func(l *liar) {
		l.claim = except(func(_, s fence.Stamp) bool { return s.Token().Lock() == liarLock })
	}},
	{name: "answers a repeated claim with replayed", lie: func(l *liar) {
		l.claimOwn = func(st *state, t fence.Token) error { return fence.Judge(liarLock, st.mark, t.At(0)) }
	}},
	{name: "starts the sequence anew for a repeated claim", lie: func(l *liar) {
		l.claimOwn = func(st *state, t fence.Token) error { st.mark = t.At(0); return nil }
	}},
	{name: "clears the data for a claim", lie: func(l *liar) {
		l.claimed = func(st *state, t fence.Token) { st.mark, st.value = t.At(0), "" }
	}},
	{name: "writes the claim as sequence one", lie: func(l *liar) {
		l.claimed = func(st *state, t fence.Token) { st.mark = t.At(1) }
	}},
	{name: "forgets a claim on reopen", lie: func(l *liar) {
		l.reopen = func(st *state) {
			if st.mark.Sequence() == 0 {
				st.mark = fence.Stamp{}
			}
		}
	}},
}
