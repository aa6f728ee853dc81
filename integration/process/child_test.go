//go:build unix

package process_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

// child is a worker in a process of its own.
type child struct {
	cmd    *exec.Cmd
	tell   io.WriteCloser
	stderr bytes.Buffer
	joined bool

	key   string // of its hold
	token fence.Token
}

// startChild starts a worker and returns when it holds the lock and has written.
func startChild(t *testing.T, kind, endpoint, file string) *child {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	c := &child{cmd: exec.CommandContext(ctx, os.Args[0], endpoint, file)}
	c.cmd.Env = append(os.Environ(), asWorker+"="+kind)
	c.cmd.Stderr = &c.stderr
	var err error
	if c.tell, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !c.joined {
			_ = c.cmd.Process.Kill() // works on a stopped process too
			_ = c.cmd.Wait()
		}
		cancel()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	var text string
	if err == nil {
		_, err = fmt.Sscan(line, &c.key, &text)
	}
	if err == nil {
		err = c.token.UnmarshalText([]byte(text))
	}
	if err != nil {
		_ = c.cmd.Process.Kill()
		c.exitCode(t)
		t.Fatalf("the worker does not hold: %v\n%s", err, &c.stderr)
	}
	return c
}

func (c *child) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// write tells the worker to write again. A stopped one finds it in its pipe later.
func (c *child) write(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(c.tell, "write\n"); err != nil {
		t.Fatal(err)
	}
}

// exitCode joins the worker.
func (c *child) exitCode(t *testing.T) int {
	t.Helper()
	err := c.cmd.Wait()
	c.joined = true
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.cmd.ProcessState.ExitCode()
}
