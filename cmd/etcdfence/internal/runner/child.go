package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/mattn/go-isatty"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
)

// child is the command that runs.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // of Wait; read after done

	// apart says that it has a process group of its own, so that what it starts is told
	// as well. On a terminal it has not: it would lose its input to whoever the shell has
	// put in the foreground, and Ctrl-C reaches it without us.
	apart bool
}

// start starts the command, with our own input and outputs.
func start(command, env []string) (*child, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	c := &child{cmd: cmd, done: make(chan struct{}), apart: !isatty.IsTerminal(os.Stdin.Fd())}
	cmd.SysProcAttr = attributes(c.apart)
	started := make(chan error, 1)
	go func() {
		// The command is told to end with the thread that started it, so that it does not
		// go on without a lock if this program is killed.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, notStarted(command[0], err)
	}
	return c, nil
}

func notStarted(program string, err error) error {
	code := CodeNotRunnable
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		code = CodeNotFound
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	} else if e := (*exec.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return &cli.ExitError{ExitCode: code, Err: fmt.Errorf("%s: %w", program, err)}
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// tell sends a signal to the command, and to what it has started if that can be told
// from us. Who has ended cannot hear it.
func (c *child) tell(s syscall.Signal) { _ = signalAll(c.cmd.Process, c.apart, s) }

// forward passes on what somebody has sent to us. What the terminal sends has reached the
// command already.
func (c *child) forward(s os.Signal) {
	if c.apart || !fromTerminal(s) {
		c.tell(s.(syscall.Signal))
	}
}

// killRest kills what the command has left behind.
func (c *child) killRest() {
	if c.apart {
		c.tell(syscall.SIGKILL)
	}
}

// result is how the command has ended.
func (c *child) result() error {
	state := c.cmd.ProcessState
	switch code := exitCode(state); {
	case state.Success():
		return nil
	case c.err != nil && code < 0:
		return c.err
	default:
		return &cli.ExitError{ExitCode: code}
	}
}
