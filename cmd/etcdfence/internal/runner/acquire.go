package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/queue"
	"github.com/etcdfence/etcdfence/etcdfence"
)

var errTimeUp = errors.New("the time to wait is up")

// stopped is the cause with which a signal ends the wait.
type stopped struct{ signal os.Signal }

func (s stopped) Error() string { return s.signal.String() }

// acquire waits for the lock, as long as the options say and nobody interrupts.
func acquire(ctx context.Context, locks *etcdfence.Adapter, client *clientv3.Client, o Options,
	signals <-chan os.Signal) (*etcdfence.Hold, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if o.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Wait, errTimeUp)
		defer cancel()
	}
	type result struct {
		hold *etcdfence.Hold
		err  error
	}
	done := make(chan result, 1)
	take := locks.Lock
	if o.Try {
		take = locks.TryLock
	}
	go func() {
		hold, err := take(ctx, o.Lock)
		done <- result{hold, err}
	}()
	for {
		select {
		case r := <-done:
			// A signal that came with the grant ends the command, not the wait.
			if r.err == nil {
				return r.hold, nil
			}
			return nil, whyNot(ctx, client, o, r.err)
		case s := <-signals:
			if ends(s) {
				end(stopped{s})
			}
		}
	}
}

// whyNot is what to say, and the exit code, if the lock was not acquired.
func whyNot(ctx context.Context, client *clientv3.Client, o Options, err error) error {
	var s stopped
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &s):
		return &cli.ExitError{ExitCode: codeSignal + int(s.signal.(syscall.Signal)), Err: fmt.Errorf("waiting for %q: %w", o.Lock, s)}
	case errors.Is(err, etcdfence.ErrLocked), errors.Is(cause, errTimeUp):
		return &cli.ExitError{ExitCode: CodeNotAcquired, Err: inUse(ctx, client, o)}
	case errors.Is(err, etcdfence.ErrBadName):
		return cli.AsUnusable(err)
	}
	return &cli.ExitError{ExitCode: CodeNotAcquired, Err: err}
}

// inUse says who holds the lock, if that can be found out quickly.
func inUse(ctx context.Context, client *clientv3.Client, o Options) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	after := ""
	if !o.Try {
		after = fmt.Sprintf(" after %v", o.Wait)
	}
	locks, err := queue.Read(ctx, client, &o.Locks, o.Lock)
	if err != nil || len(locks) == 0 || len(locks[0].Entries) == 0 {
		return fmt.Errorf("%q is in use%s", o.Lock, after)
	}
	holder := locks[0].Entries[0]
	return fmt.Errorf("%q is in use%s, by %s (revision %d, %d more waiting)", o.Lock, after, holder.Who(), holder.Revision,
		len(locks[0].Entries)-1)
}
