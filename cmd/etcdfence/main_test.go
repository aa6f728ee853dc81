package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/etcdfence/etcdfence/integration/pgtest"
)

// The program is the test binary under another name, so that it has the race detector
// too, and can start itself.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=20") // or each process that it starts takes a second to end
	testscript.Main(tests{m}, map[string]func(){"etcdfence": main})
}

// tests clears away what they share, and looks for goroutines.
type tests struct{ *testing.M }

func (t tests) Run() int {
	code := t.M.Run()
	if err := pgtest.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}
