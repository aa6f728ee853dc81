//go:build unix

package runner

import (
	"os"
	"os/signal"
	"syscall"
)

// catch takes the signals that a command may want to hear of. stop gives them back.
func catch() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	forwarded := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGWINCH, syscall.SIGCONT}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		forwarded = append(forwarded, syscall.SIGHUP)
	}
	signal.Notify(c, forwarded...)
	return c, func() { signal.Stop(c) }
}

// ends reports whether a signal ends the wait for the lock.
func ends(s os.Signal) bool {
	return s == os.Interrupt || s == syscall.SIGTERM || s == syscall.SIGQUIT || s == syscall.SIGHUP
}

// fromTerminal reports whether a terminal sends this signal to all who are in its
// foreground.
func fromTerminal(s os.Signal) bool {
	return s == os.Interrupt || s == syscall.SIGQUIT || s == syscall.SIGWINCH
}

func signalAll(p *os.Process, group bool, s syscall.Signal) error {
	if group {
		return syscall.Kill(-p.Pid, s)
	}
	return p.Signal(s)
}

// exitCode is as shells have it: 128 and the signal's number if a signal has ended it.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return codeSignal + int(status.Signal())
	}
	return state.ExitCode()
}
