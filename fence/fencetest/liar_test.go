package fencetest_test

import (
	"bytes"
	"context"
	"sync/atomic"

	"github.com/etcdfence/etcdfence/fence"
)

const liarLock = "orders/42"

// liar is a resource that is honest but for what a lie changes in it. All lies are told
// by this one program, so that a liar differs from the honest resource in nothing else.
type liar struct {
	state
	turn chan struct{} // as in fence.Memory

	crashes *atomic.Int64 // a change during which this moved is lost
	losing  bool          // the next reply

	// Where a resource can go wrong. newLiar sets the honest answers.
	look     func(ctx context.Context) error                     // at the context, first of all
	checkOp  func(*fence.Operation) error                        // next
	judge    func(lock string, mark, s fence.Stamp) error        // for writes
	claim    func(lock string, mark, s fence.Stamp) error        // for claims of another token than the mark's
	claimOwn func(st *state, t fence.Token) error                // for claims of the mark's own token
	claimed  func(st *state, t fence.Token)                      // raises the mark
	refused  func(error) error                                   // what is told of a refusal
	done     func(st *state, s fence.Stamp, err error, v string) // what a change leaves; err is its error
	failed   func(error) error                                   // what is told of a change that failed
	known    func(st *state, op *fence.Operation, s fence.Stamp) error
	record   func(st *state, op *fence.Operation, s fence.Stamp)
	rebased  func(mark, from fence.Stamp) bool
	tell     func(lock string, mark fence.Stamp) (fence.Stamp, error)
	reopen   func(*state)
	share    func(*liar) *liar
	key      func(id string) string           // under which an operation is recorded
	idFirst  bool                             // looks at the operation id before the fence
	around   func(honest liarApply) liarApply // for lies in no place of their own
	begin    func(op *fence.Operation)        // before each run of a change
	lost     func(s fence.Stamp) error        // what is told when a reply is lost
	answer   func(ctx context.Context) error  // what is told of a change that is done
	apart    func(st *state, inside func())   // runs the change, honestly inside the critical section
	written  func(st *state, value string)    // sees each Write
	anyOrder func(lock string, mark, s fence.Stamp) error
}

// state is what a store would keep on its disk.
type state struct {
	value string
	mark  fence.Stamp
	ops   map[string]fence.DuplicateError
}

type liarTx struct {
	liar   *liar
	staged *string
}

type (
	liarChange = func(context.Context, *liarTx) error
	liarApply  = func(context.Context, fence.Stamp, liarChange) error
)

func newLiar() *liar {
	l := &liar{}
	*l = liar{
		crashes:  new(atomic.Int64),
		turn:     make(chan struct{}, 1),
		state:    state{ops: map[string]fence.DuplicateError{}},
		look:     context.Context.Err,
		checkOp:  (*fence.Operation).Check,
		judge:    fence.Judge,
		claim:    fence.Judge,
		claimOwn: func(*state, fence.Token) error { return nil },
		claimed:  func(st *state, t fence.Token) { st.mark = t.At(0) },
		refused:  func(err error) error { return err },
		done: func(st *state, s fence.Stamp, err error, value string) {
			if err == nil {
				st.value, st.mark = value, s
			}
		},
		failed: func(err error) error { return err },
		known: func(st *state, op *fence.Operation, _ fence.Stamp) error {
			d, ok := st.ops[l.key(op.ID())]
			if !ok {
				return nil
			}
			d.Result = bytes.Clone(d.Result)
			return &d
		},
		record: func(st *state, op *fence.Operation, s fence.Stamp) {
			st.ops[l.key(op.ID())] = fence.DuplicateError{Operation: op.ID(), Stamp: s, Result: op.Result()}
		},
		rebased: func(mark, from fence.Stamp) bool { return mark == from },
		tell: func(lock string, mark fence.Stamp) (fence.Stamp, error) {
			if lock != liarLock {
				return fence.Stamp{}, &fence.RefusedError{Lock: liarLock, Reason: fence.ErrWrongLock}
			}
			return mark, nil
		},
		key:      func(id string) string { return id },
		lost:     func(fence.Stamp) error { return fence.ErrUnknownOutcome },
		around:   func(honest liarApply) liarApply { return honest },
		begin:    func(op *fence.Operation) { op.SetResult(nil) },
		reopen:   func(*state) {},
		share:    func(l *liar) *liar { return l },
		answer:   func(context.Context) error { return nil },
		apart:    func(_ *state, inside func()) { inside() },
		written:  func(*state, string) {},
		anyOrder: fence.JudgeAnyOrder,
	}
	return l
}

func (l *liar) Apply(ctx context.Context, s fence.Stamp, change liarChange) error {
	honest := func(ctx context.Context, s fence.Stamp, change liarChange) error {
		return l.apply(ctx, s, change, l.judge)
	}
	return l.around(honest)(ctx, s, change)
}

func (l *liar) apply(ctx context.Context, s fence.Stamp, change liarChange,
	judge func(lock string, mark, s fence.Stamp) error) error {
	op := fence.OperationFrom(ctx)
	if op != nil {
		if err := l.checkOp(op); err != nil {
			return err
		}
	}
	if err := l.look(ctx); err != nil {
		return err
	}
	crashes := l.crashes.Load()
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	fenced := func() error {
		if err := judge(liarLock, l.mark, s); err != nil {
			return l.refused(err)
		}
		return nil
	}
	known := func() error {
		if op == nil {
			return nil
		}
		return l.known(&l.state, op, s)
	}
	questions := []func() error{fenced, known}
	if l.idFirst {
		questions = []func() error{known, fenced}
	}
	for _, ask := range questions {
		if err := ask(); err != nil {
			return err
		}
	}
	if op != nil {
		l.begin(op)
	}
	tx, err := &liarTx{liar: l}, error(nil)
	l.apart(&l.state, func() { err = change(ctx, tx) })
	if l.crashes.Load() != crashes {
		return fence.ErrUnknownOutcome
	}
	value := l.value
	if tx.staged != nil {
		value = *tx.staged
	}
	l.done(&l.state, s, err, value)
	if err != nil {
		return l.failed(err)
	}
	if op != nil {
		l.record(&l.state, op, s)
	}
	if l.losing {
		l.losing = false
		return l.lost(s)
	}
	return l.answer(ctx)
}

func (l *liar) Claim(ctx context.Context, t fence.Token) error {
	if err := l.look(ctx); err != nil {
		return err
	}
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if !t.IsZero() && t == l.mark.Token() {
		return l.claimOwn(&l.state, t)
	}
	if err := l.claim(liarLock, l.mark, t.At(0)); err != nil {
		return l.refused(err)
	}
	l.claimed(&l.state, t)
	if l.losing {
		l.losing = false
		return l.lost(t.At(0))
	}
	return nil
}

func (l *liar) Mark(_ context.Context, lock string) (fence.Stamp, error) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return l.tell(lock, l.mark)
}

func (l *liar) Rebase(_ context.Context, from, to fence.Stamp) error {
	if err := fence.CheckRebase(liarLock, from, to); err != nil {
		return err
	}
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if !l.rebased(l.mark, from) {
		return &fence.RefusedError{Lock: liarLock, Presented: from, Mark: l.mark, Reason: fence.ErrMoved}
	}
	l.mark = to
	return nil
}
