package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// host is the testing.TB that the test kits need, for a program.
type host struct {
	testing.TB // for the methods that the kits do not call, and the private one

	ctx      context.Context
	mu       sync.Mutex // guards the rest
	failures []string
	cleanups []func()
}

// run runs a measurement and then its cleanups. Like a test it has a goroutine of its
// own, which Fatal ends.
func run(measurement func(h *host)) error {
	ctx, cancel := context.WithCancel(context.Background())
	h := &host{ctx: ctx}
	alone := func(f func()) {
		done := make(chan struct{})
		go func() { defer close(done); f() }()
		<-done
	}
	alone(func() { measurement(h) })
	cancel()
	for {
		h.mu.Lock()
		n := len(h.cleanups)
		if n == 0 {
			defer h.mu.Unlock()
			if len(h.failures) > 0 {
				return errors.New(strings.Join(h.failures, "\n"))
			}
			return nil
		}
		f := h.cleanups[n-1]
		h.cleanups = h.cleanups[:n-1]
		h.mu.Unlock()
		alone(f)
	}
}

func (h *host) Helper()                  {}
func (h *host) Name() string             { return "bench" }
func (h *host) Context() context.Context { return h.ctx }
func (h *host) Log(...any)               {}
func (h *host) Logf(string, ...any)      {}

func (h *host) Cleanup(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cleanups = append(h.cleanups, f)
}

func (h *host) Errorf(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures = append(h.failures, fmt.Sprintf(format, args...))
}

func (h *host) Error(args ...any) { h.Errorf("%s", strings.TrimSpace(fmt.Sprintln(args...))) }
func (h *host) FailNow()          { runtime.Goexit() }

func (h *host) Fatalf(format string, args ...any) {
	h.Errorf(format, args...)
	h.FailNow()
}

func (h *host) Fatal(args ...any) {
	h.Error(args...)
	h.FailNow()
}

func (h *host) Failed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.failures) > 0
}

func (h *host) TempDir() string {
	dir, err := os.MkdirTemp("", "bench")
	h.must(err)
	h.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			h.Error(err)
		}
	})
	return dir
}

// must ends the measurement if there is an error.
func (h *host) must(err error) {
	if err != nil {
		h.Fatal(err)
	}
}

// etcd starts a server. With "nofsync" it does not wait for the disk.
func (h *host) etcd(mode string) *etcdtest.Admin {
	switch {
	case apart:
		return h.etcdApart(mode)
	case mode == "nofsync":
		return etcdtest.Start(h).Admin
	default:
		return etcdtest.Start(h, etcdtest.WithFsync()).Admin
	}
}

// etcdApart starts it in a process of its own, which is this program again.
func (h *host) etcdApart(mode string) *etcdtest.Admin {
	flags := []string{"--log-level", "error"}
	if mode == "nofsync" {
		flags = append(flags, "--unsafe-no-fsync")
	}
	h.must(os.Setenv(asEtcd, "1"))
	defer os.Unsetenv(asEtcd)
	program, err := os.Executable()
	h.must(err)
	return etcdtest.StartProcess(h, program, flags...).Admin
}
