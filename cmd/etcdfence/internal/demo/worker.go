package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/etcdctl"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/timeline"
	"github.com/etcdfence/etcdfence/etcdfence"
)

// errOrphan ends a worker whose director is gone.
var errOrphan = errors.New("the standard input has ended")

// Work is the life of one worker, in a process of its own: it takes its job from in
// and reports to out. A and B do the same.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	etcdctl.Quiet()
	w := &worker{orders: json.NewDecoder(in), reports: json.NewEncoder(out), leave: make(chan struct{})}
	var j job
	if err := w.orders.Decode(&j); err != nil {
		return fmt.Errorf("no job: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go w.listen(cancel) // ends with the process, which does nothing after this
	err := w.do(ctx, j)
	if err != nil {
		_ = w.reports.Encode(report{Failed: err.Error()}) // or the exit code says it
	}
	return err
}

type worker struct {
	orders  *json.Decoder
	reports *json.Encoder
	leave   chan struct{} // to go on
}

func (w *worker) do(ctx context.Context, j job) (err error) {
	client, err := etcdctl.Client(j.Etcd)
	if err != nil {
		return err
	}
	defer client.Close()
	locks, err := etcdfence.New(client, &etcdfence.Options{Prefix: j.Prefix, TTL: j.TTL, Owner: j.Owner})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locks.Close()) }()
	target, err := openTarget(j.Store)
	if err != nil {
		return err
	}
	defer target.Close()
	return w.work(ctx, j, locks, target)
}

// work is what any service does under a lock, and reports every step of it.
func (w *worker) work(ctx context.Context, j job, locks *etcdfence.Adapter, to target) error {
	if err := w.tell(report{Kind: timeline.Asked}); err != nil {
		return err
	}
	hold, err := locks.Lock(ctx, j.Lock)
	if err != nil {
		return err
	}
	defer hold.Release(context.WithoutCancel(ctx)) // A's is refused: it has lost its hold
	if err := w.tell(report{Kind: timeline.Granted, Token: hold.Token(), Key: hold.Key(), TTL: hold.TTL()}); err != nil {
		return err
	}
	write := to.plain
	if j.Fence {
		if write, err = to.fenced(ctx, hold); err != nil {
			return err
		}
		if err := w.tell(report{Kind: timeline.Claimed}); err != nil {
			return err
		}
	}
	if err := hold.Verify(ctx); err != nil {
		return err
	}
	if err := w.tell(report{Kind: timeline.Checked}); err != nil {
		return err
	}
	// The check was good, and the write is next. Here A is stopped.
	if err := w.wait(ctx); err != nil {
		return err
	}
	if err := w.tell(report{Kind: timeline.Wrote, Answer: answerOf(write(ctx, j.Value))}); err != nil {
		return err
	}
	return w.wait(ctx) // B keeps the lock until A has written
}

func (w *worker) tell(r report) error { return w.reports.Encode(r) }

// wait waits for leave to go on.
func (w *worker) wait(ctx context.Context) error {
	select {
	case <-w.leave:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// listen passes leaves on. The end of the input means that nobody is left to work for.
func (w *worker) listen(end context.CancelCauseFunc) {
	for {
		var p proceed
		if err := w.orders.Decode(&p); err != nil {
			end(errOrphan)
			return
		}
		w.leave <- struct{}{}
	}
}
