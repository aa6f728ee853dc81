//go:build unix

package demo

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
)

// supported is nil where processes can be stopped and continued.
func supported() error { return nil }

// apart gives a worker a process group of its own, so that a Ctrl-C on the terminal
// reaches the director alone, which then ends the workers.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = attributes() }

// stopProcess stops a process and returns when it stands still.
func stopProcess(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return fmt.Errorf("waiting for it to stop: %w", err)
		case status.Stopped():
			return nil
		default:
			return fmt.Errorf("it ended: exit status %d", status.ExitStatus())
		}
	}
}

func continueProcess(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// socketPair returns two ends of a connection that nobody else can reach.
func socketPair() (ours net.Conn, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // no child started now may inherit them
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	mine := os.NewFile(uintptr(fds[0]), "store")
	defer mine.Close()
	theirs = os.NewFile(uintptr(fds[1]), "worker")
	if ours, err = net.FileConn(mine); err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}
