package demo

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is its own worker, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == WorkerVerb {
		if err := Work(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Setenv("GORACE", "atexit_sleep_ms=20") // or every worker takes a second to end
	goleak.VerifyTestMain(m)
}
