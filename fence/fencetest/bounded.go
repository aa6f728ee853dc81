package fencetest

import (
	"fmt"
	"runtime/debug"
	"time"
)

// bounded runs f in a goroutine of its own and returns what went wrong with it: a
// panic, or that it has not returned in time. One that hangs is left behind; there
// is no way to end it. f may leave with runtime.Goexit.
func bounded(limit time.Duration, f func()) error {
	ended := make(chan error, 1)
	go func() {
		var err error
		defer func() { ended <- err }()
		defer caught(&err)
		f()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		return fmt.Errorf("it hangs: nothing came back within %v", limit)
	}
}

// caught, deferred, turns a panic into an error.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("it panicked: %v\n%s", p, debug.Stack())
	}
}
