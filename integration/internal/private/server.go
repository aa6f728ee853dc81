package private

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Patience is for a start or a stop; far more than it takes.
const Patience = 60 * time.Second

// Server is a program that runs on data of its own. Its methods are not to be called at
// the same time, except Dir.
type Server struct {
	kind     *Kind
	as       *syscall.Credential
	dir      string
	settings []string
	running  *process
}

// Dir returns the server's directory, where its socket may be. It stays the same.
func (s *Server) Dir() string { return s.dir }

// Running reports whether the server was started and not ended since.
func (s *Server) Running() bool { return s.running != nil }

// Stop ends the server in good order. Stopping a stopped one does nothing.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.end(s.kind.End); err != nil {
		t.Fatal(err)
	}
}

// Kill ends the server as kill -9 does. What was committed must be there after Restart.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if err := s.end(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// Restart starts the server on the same data, stopping it first if it runs. Its address
// stays the same.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop(t)
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// KillAndRestart does both, for goroutines that must not end the test.
func (s *Server) KillAndRestart() error {
	return errors.Join(s.end(syscall.SIGKILL), s.start())
}

func (s *Server) start() error {
	cmd, err := s.kind.Run(s.dir, filepath.Join(s.dir, data), s.settings)
	if err != nil {
		return fmt.Errorf("%s: %w", s.kind.Name, err)
	}
	surround(cmd)
	cmd.SysProcAttr = attr(s.as)
	p := run(cmd, s.kind.Ready)
	late := time.NewTimer(Patience)
	defer late.Stop()
	select {
	case <-p.ready:
		s.running = p
		return nil
	case <-p.done:
		return fmt.Errorf("%s: %w", s.kind.Name, p.failure())
	case <-late.C:
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("%s: not ready within %v: %w", s.kind.Name, Patience, p.failure())
	}
}

// end sends a signal and waits until the server and all its children are gone: each of
// them holds the log open, and only then the data are free again.
func (s *Server) end(signal syscall.Signal) error {
	p := s.running
	if p == nil {
		return nil
	}
	s.running = nil
	_ = p.cmd.Process.Signal(signal) // gone already is as good
	late := time.NewTimer(Patience)
	defer late.Stop()
	select {
	case <-p.done:
		return nil
	case <-late.C:
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("%s: %v did not end the server within %v", s.kind.Name, signal, Patience)
	}
}

func (s *Server) close() error {
	return errors.Join(s.end(s.kind.End), os.RemoveAll(s.dir))
}
