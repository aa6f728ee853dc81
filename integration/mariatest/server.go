package mariatest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

const patience = 60 * time.Second // for a start or a stop; far more than it takes

// Server is a MariaDB that belongs to the tests. Its methods are not to be called at
// the same time, except DSN and Database.
type Server struct {
	template *template
	root     string // data directory and socket
	settings []string
	running  *process
}

// Option changes how a server is started.
type Option func(*Server)

// WithSync lets every commit wait for the disk, as a production server does. Without it
// a commit survives the death of the server but not of the machine, and is much faster.
func WithSync() Option {
	return func(s *Server) { s.settings = append(s.settings, "innodb-flush-log-at-trx-commit=1") }
}

// WithSetting sets one option, as on the server's command line, without the dashes.
func WithSetting(name, value string) Option {
	return func(s *Server) { s.settings = append(s.settings, name+"="+value) }
}

// Start starts a server for one test and stops it when the test ends. It fails the test
// if there are no binaries or the server does not come up.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s, err := open(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var shared struct {
	sync.Mutex
	server *Server
}

// Shared returns the server that all tests of the binary share, and starts it for the
// first of them. Call [Close] at the end of TestMain.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		s, err := open()
		if err != nil {
			t.Fatal(err)
		}
		shared.server = s
	}
	return shared.server
}

// Close stops the shared server, if there is one, and removes all files. After it, no
// process, goroutine or file of this package is left. Closing again does nothing.
func Close() error {
	shared.Lock()
	defer shared.Unlock()
	var err error
	if shared.server != nil {
		err = shared.server.close()
		shared.server = nil
	}
	made.Lock()
	defer made.Unlock()
	if made.template != nil {
		err = errors.Join(err, os.RemoveAll(made.template.root))
		made.template = nil
	}
	return err
}

func open(opts ...Option) (*Server, error) {
	t, err := fresh()
	if err != nil {
		return nil, err
	}
	root, err := t.copy()
	if err != nil {
		return nil, err
	}
	s := &Server{template: t, root: root, settings: []string{
		"innodb-flush-log-at-trx-commit=2", // a killed server keeps its commits
		"innodb-buffer-pool-size=32M", "max-connections=150", "skip-log-bin",
	}}
	for _, opt := range opts {
		opt(s)
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(root))
	}
	return s, nil
}

func (s *Server) socket() string { return filepath.Join(s.root, "s") }

func (s *Server) start() error {
	args := []string{"--no-defaults", "--datadir=" + filepath.Join(s.root, "data"), "--socket=" + s.socket(),
		"--pid-file=" + filepath.Join(s.root, "pid"), "--tmpdir=" + s.root, "--skip-networking", logSize}
	for _, setting := range s.settings {
		args = append(args, "--"+setting)
	}
	cmd := s.template.command(s.template.server, args...)
	cmd.SysProcAttr = attr(s.template.as)
	p := start(cmd)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.ready:
		s.running = p
		return nil
	case <-p.done:
		return fmt.Errorf("mariatest: %w", p.failure())
	case <-late.C:
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("mariatest: not ready within %v: %w", patience, p.failure())
	}
}

// end sends a signal and waits until the server is gone: only then the data directory is
// free again.
func (s *Server) end(signal syscall.Signal) error {
	p := s.running
	if p == nil {
		return nil
	}
	s.running = nil
	_ = p.cmd.Process.Signal(signal) // gone already is as good
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.done:
		return nil
	case <-late.C:
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("mariatest: %v did not end the server within %v", signal, patience)
	}
}

func (s *Server) close() error {
	return errors.Join(s.end(syscall.SIGTERM), os.RemoveAll(s.root))
}

// Stop ends the server in good order: open transactions are rolled back and
// connections closed. It may be started again with Restart.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.end(syscall.SIGTERM); err != nil {
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

// Restart starts the server on the same data, stopping it first if it runs. Data
// source names stay the same.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop(t)
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}
