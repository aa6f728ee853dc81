// Package runner runs a command while a lock is held, and ends it when the lock is lost.
//
//	waiting --granted--> running --the command ends--> release, its exit code
//	   |                    |
//	   |                    +--lost--> SIGTERM --grace--> SIGKILL, CodeLost
//	   +--in use, time is up--> CodeNotAcquired
package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
	"github.com/etcdfence/etcdfence/etcdfence"
)

// Exit codes of our own. They are none of those that shells give a meaning to, nor of
// sysexits.h; a command that uses them cannot be told from us.
const (
	CodeNotAcquired = 121
	CodeLost        = 122
	CodeNotRunnable = 126 // as shells have it: it is there and does not start
	CodeNotFound    = 127
	codeSignal      = 128 // plus the signal's number
)

// Options of [Run].
type Options struct {
	Lock    string
	Command []string
	Locks   etcdfence.Options

	Try     bool          // do not wait
	Wait    time.Duration // how long to wait at most; 0: for ever
	Grace   time.Duration // between SIGTERM and SIGKILL
	Verbose bool
}

// releaseTime bounds the release at the end. A lock that cannot be released is free after
// its TTL all the same.
const releaseTime = 5 * time.Second

// Run does it all. What it has to say goes to log; the command has the program's own
// input and outputs. The error is nil if the command came out with 0, and a
// [cli.ExitError] if it ended otherwise.
func Run(ctx context.Context, client *clientv3.Client, o Options, log io.Writer) (err error) {
	locks, err := etcdfence.New(client, &o.Locks)
	if err != nil {
		return cli.AsUnusable(err)
	}
	defer func() {
		if cerr := locks.Close(); cerr != nil {
			fmt.Fprintf(log, "etcdfence run: %s\n", cli.OneLine(cerr))
		}
	}()
	signals, stop := catch()
	defer stop()
	say := func(format string, args ...any) {
		if o.Verbose {
			fmt.Fprintf(log, "etcdfence run: "+format+"\n", args...)
		}
	}
	hold, err := acquire(ctx, locks, client, o, signals)
	if err != nil {
		return err
	}
	say("%v is held, by %s", hold, hold.Token().Owner())
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		if rerr := hold.Release(ctx); rerr != nil && !errors.Is(rerr, etcdfence.ErrNotHeld) {
			fmt.Fprintf(log, "etcdfence run: releasing %q, which is free in %v at the latest: %s\n", o.Lock, hold.TTL(), cli.OneLine(rerr))
		}
	}()
	child, err := start(o.Command, environment(hold))
	if err != nil {
		return err
	}
	say("process %d: %s", child.pid(), o.Command[0])
	return supervise(child, hold, o.Grace, signals, log)
}

// supervise waits until the command has ended.
func supervise(child *child, hold *etcdfence.Hold, grace time.Duration, signals <-chan os.Signal, log io.Writer) error {
	lost := hold.Done()
	var kill <-chan time.Time
	for {
		select {
		case <-child.done:
			if hold.Err() != nil {
				child.killRest() // whoever is left has been told, and is not waited for
				return &cli.ExitError{ExitCode: CodeLost, Err: fmt.Errorf("%q was lost while the command ran", hold.Lock())}
			}
			return child.result()
		case s := <-signals:
			child.forward(s)
		case <-lost:
			lost = nil
			fmt.Fprintf(log, "etcdfence run: %s; asking the command to end within %v\n", cli.OneLine(hold.Err()), grace)
			child.tell(syscall.SIGTERM)
			timer := time.NewTimer(grace)
			defer timer.Stop()
			kill = timer.C
		case <-kill:
			fmt.Fprintf(log, "etcdfence run: the command did not end within %v: killing it\n", grace)
			child.tell(syscall.SIGKILL)
		}
	}
}
