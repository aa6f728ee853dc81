package fence_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestMain fails the run if a goroutine that runs code of this package outlives
// the tests.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := leaked(); code == 0 && left != "" {
		fmt.Fprintf(os.Stderr, "a goroutine outlived the tests:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// leaked looks more than once: a joined goroutine has still to return from the call
// that joined it.
func leaked() (left string) {
	for range 1000 {
		left = ""
		buf := make([]byte, 1<<20)
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "etcdfence/fence") && !strings.Contains(g, "TestMain") {
				left = g
			}
		}
		if left == "" {
			return ""
		}
		runtime.Gosched()
	}
	return left
}
