package kit_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/etcdfence/etcdfence/integration/kit"
)

// watched is a test that may fail: that is what it is for.
type watched struct {
	*testing.T
	failed bool
	said   strings.Builder
}

// watch runs f and returns what it said when it failed.
func watch(t *testing.T, f func(kit.TB)) string {
	t.Helper()
	w := &watched{T: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f(w)
	}()
	<-ended
	if !w.failed {
		return ""
	}
	return w.said.String()
}

func (w *watched) Logf(format string, args ...any) { fmt.Fprintf(&w.said, format+"\n", args...) }
func (w *watched) Log(args ...any)                 { fmt.Fprintln(&w.said, args...) }
func (w *watched) Failed() bool                    { return w.failed }
func (w *watched) Fail()                           { w.failed = true }
func (w *watched) FailNow()                        { w.failed = true; runtime.Goexit() }

func (w *watched) Errorf(format string, args ...any) { w.Logf(format, args...); w.Fail() }
func (w *watched) Error(args ...any)                 { w.Log(args...); w.Fail() }
func (w *watched) Fatalf(format string, args ...any) { w.Logf(format, args...); w.FailNow() }
func (w *watched) Fatal(args ...any)                 { w.Log(args...); w.FailNow() }
