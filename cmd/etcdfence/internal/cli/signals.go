package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// UntilSignal returns a context that ends, with the cause [ErrInterrupted], when the
// program is asked to end. Further signals change nothing: cleaning up is bounded, and
// half of it is worse than waiting for it. stop gives the signals back.
func UntilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	ask := make(chan os.Signal, 1)
	signal.Notify(ask, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(ask, syscall.SIGHUP)
	}
	// Without this a closed pipe behind the standard output would end the program on
	// the spot, and leave its children and files behind.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-ask:
			cancel(ErrInterrupted)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(ask)
		signal.Stop(broken)
		close(done)
		<-ended
		cancel(nil)
	}
}
