package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program is a run of etcdfence that a test can interfere with.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	work   string // known by it: see leftovers
	out    io.Closer
	lines  *bufio.Scanner
	stderr bytes.Buffer
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{t: t, work: t.TempDir()}
	tmp := filepath.Join(p.work, ".tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("etcdfence")
	if err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(path, args...)
	p.cmd.Args[0] = "etcdfence"
	p.cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "WORK="+p.work)
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out, p.lines = out, bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // of a test that has failed
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	return p
}

// until reads what the program prints until a line has the words.
func (p *program) until(words string) {
	p.t.Helper()
	for p.lines.Scan() {
		if strings.Contains(p.lines.Text(), words) {
			return
		}
	}
	p.t.Fatalf("it ended without saying %q; stderr: %s", words, p.stderr.String())
}

// close stops reading what the program prints.
func (p *program) close() { p.out.Close() }

func (p *program) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// ends checks how the program ends, within a time, and that it leaves nothing.
func (p *program) ends(code int, within time.Duration, message string) {
	p.t.Helper()
	if said := p.end(code, within); len(said) != 1 || !strings.Contains(said[0], message) {
		p.t.Errorf("stderr is %q, want one line with %q", said, message)
	}
	if err := leftovers(p.work); err != nil {
		p.t.Error(err)
	}
}

// end waits until the program has ended, and everybody who has its standard output, and
// returns the lines of its stderr.
func (p *program) end(code int, within time.Duration) []string {
	p.t.Helper()
	late := time.AfterFunc(within, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	for p.lines.Scan() {
	}
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d, want %d", got, code)
	}
	if p.stderr.Len() == 0 {
		return nil
	}
	return splitLines(p.stderr.String())
}
