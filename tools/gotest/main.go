// Command gotest runs "go test" and counts a skipped test as a failure:
//
//	go run ./tools/gotest [go test flags] work
//
// A test that skips itself because a server is missing proves nothing, and "ok" hides
// it. go test has no flag for that and neither has gotestsum, which prints skips but
// exits with 0: reading its report would be this program again, and a module more.
//
// Packages are printed as go test prints them, failed and skipped tests with their
// output, and the last line is "N passed, N failed, N skipped". Subtests, examples and
// fuzz seeds count as tests.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	os.Exit(run(os.Stdout, os.Args[1:]))
}

// run returns the exit code: 0 only if go test agrees, something passed, and nothing
// was skipped.
func run(w io.Writer, args []string) int {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return fail(err)
	}
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	r := newReport(w)
	if err := r.read(events); err != nil {
		return fail(fmt.Errorf("reading go test's events: %w", err))
	}
	err = cmd.Wait()
	r.summary()
	switch {
	case err != nil || r.failed > 0 || r.skipped > 0:
		return 1
	case r.passed == 0:
		fmt.Fprintln(w, "FAIL: no test was run")
		return 1
	}
	return 0
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "gotest:", err)
	return 1
}
