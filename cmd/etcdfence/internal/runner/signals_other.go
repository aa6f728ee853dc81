//go:build !unix

package runner

import (
	"os"
	"os/signal"
	"syscall"
)

func catch() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	return c, func() { signal.Stop(c) }
}

func ends(os.Signal) bool { return true }

func fromTerminal(s os.Signal) bool { return s == os.Interrupt }

// signalAll can only kill here, and only the command itself.
func signalAll(p *os.Process, _ bool, _ syscall.Signal) error { return p.Kill() }

func exitCode(state *os.ProcessState) int { return state.ExitCode() }

func attributes(bool) *syscall.SysProcAttr { return nil }
