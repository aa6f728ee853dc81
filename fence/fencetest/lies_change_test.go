package fencetest_test

import (
	"context"
	"errors"

	"github.com/etcdfence/etcdfence/fence"
)

// Lies in the step that makes the change.
var changeLies = []row{
	{name: "compares and writes in two steps", lie: func(l *liar) { l.apart = l.outside }},
	{name: "raises the mark before the change is done", lie: func(l *liar) {
		l.judge = func(lock string, mark, s fence.Stamp) error {
			err := fence.Judge(lock, mark, s)
			if err == nil {
				l.mark = s
			}
			return err
		}
		l.apart = l.outside
		l.done = func(st *state, s fence.Stamp, err error, value string) {
			if err == nil && st.mark == s {
				st.value = value
			}
		}
	}},
	{name: "shows what a change writes at once", lie: func(l *liar) {
		l.apart = l.outside
		l.written = func(st *state, value string) {
			l.turn <- struct{}{}
			st.value = value
			<-l.turn
		}
	}},
	{name: "raises the mark although the change failed", lie: func(l *liar) {
		l.done = func(st *state, s fence.Stamp, err error, value string) {
			if st.mark = s; err == nil {
				st.value = value
			}
		}
	}},
	{name: "keeps what a failed change wrote", lie: func(l *liar) {
		l.done = func(st *state, s fence.Stamp, err error, value string) {
			if st.value = value; err == nil {
				st.mark = s
			}
		}
	}},
	{name: "forgets to raise the mark", lie: func(l *liar) {
		l.done = func(st *state, s fence.Stamp, err error, value string) {
			if err == nil {
				st.value = value
			}
		}
	}},
	{name: "raises the mark and forgets the data", lie: func(l *liar) {
		l.done = func(st *state, s fence.Stamp, err error, _ string) {
			if err == nil {
				st.mark = s
			}
		}
	}},
	{name: "says nothing of a change that failed", lie: func(l *liar) {
		l.failed = func(error) error { return nil }
	}},
	{name: "replaces the error of the change", lie: func(l *liar) {
		l.failed = func(error) error { return errors.New("something went wrong") }
	}},
	{name: "takes an error of the change for stale", lie: func(l *liar) {
		l.failed = func(err error) error { return errors.Join(err, fence.ErrStale) }
	}},
	{name: "swallows a panic", lie: func(l *liar) {
		l.apart = func(_ *state, inside func()) {
			defer func() { _ = recover() }()
			inside()
		}
	}},
	{name: "runs a refused change and keeps its effect", lie: func(l *liar) {
		l.around = func(honest liarApply) liarApply {
			return func(ctx context.Context, s fence.Stamp, change liarChange) error {
				err := honest(ctx, s, change)
				if tx := (&liarTx{liar: l}); isRefused(err) && change(ctx, tx) == nil {
					l.turn <- struct{}{}
					l.value = *tx.staged
					<-l.turn
				}
				return err
			}
		}
	}},
	{name: "does not heed a context that has ended", lie: func(l *liar) {
		l.look = func(context.Context) error { return nil }
	}},
	{name: "says that a done change was cancelled", lie: func(l *liar) {
		l.answer = func(ctx context.Context) error { return ctx.Err() }
	}},
	{name: "forgets the mark on reopen", lie: func(l *liar) {
		l.reopen = func(st *state) { st.mark = fence.Stamp{} }
	}},
	{name: "forgets the data on reopen", lie: func(l *liar) {
		l.reopen = func(st *state) { st.value = "" }
	}},
	{name: "loses the sequence on reopen", lie: func(l *liar) {
		l.reopen = func(st *state) { st.mark = st.mark.Token().At(0) }
	}},
	{name: "has a mark for each handle", lie: func(l *liar) {
		l.share = func(l *liar) *liar {
			other := *l
			return &other
		}
	}},
}
