package etcdtest_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// A recorder is a testing.TB that remembers failures, to test what the kit
// reports, and whose cleanups run on demand.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	logs     strings.Builder
	cleanups []func()
}

func (r *recorder) fail(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, s)
}

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.logs, format+"\n", args...)
}

func (r *recorder) logged() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.logs.String()
}

func (r *recorder) Errorf(format string, args ...any) { r.fail(fmt.Sprintf(format, args...)) }
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }
func (r *recorder) Failed() bool      { return r.report() != "" }
func (r *recorder) Cleanup(f func())  { r.cleanups = append(r.cleanups, f) }

func (r *recorder) report() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.failures, "\n")
}

// run runs a test body to its end and then its cleanups, and returns what it reported.
func (r *recorder) run(body func(t testing.TB)) string {
	done := make(chan struct{})
	go func() {
		defer close(done)
		body(r)
	}()
	<-done
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	return r.report()
}
