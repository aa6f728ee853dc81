package private

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// Kind is one program, and what was made of it in this test binary.
type Kind struct {
	Name  string         // of the package that offers it: errors and directories begin with it
	Ready string         // what the program logs once it accepts connections
	End   syscall.Signal // ends it in good order
	Users []string       // who may run it in place of root, whom it refuses; nil if it does not

	// Install returns the command that makes fresh data in a directory; nil if the program
	// makes them itself. It runs once, and every server begins with a copy.
	Install func(data string) (*exec.Cmd, error)

	// Run returns the command that serves the data. In dir there is room for a socket.
	Run func(dir, data string, settings []string) (*exec.Cmd, error)

	mu       sync.Mutex
	template *template
	shared   *Server
}

// Option changes how a server is started.
type Option func(*Server)

// WithSettings passes words to the kind's Run.
func WithSettings(words ...string) Option {
	return func(s *Server) { s.settings = append(s.settings, words...) }
}

// Start starts a server for one test and stops it when the test ends. It fails the test
// if there is no program or it does not come up.
func (k *Kind) Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s, err := k.open(opts...)
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

// Shared returns the server that all tests of the binary share, and starts it for the
// first of them. Call Close at the end of TestMain.
func (k *Kind) Shared(t testing.TB) *Server {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.shared == nil {
		s, err := k.openLocked()
		if err != nil {
			t.Fatal(err)
		}
		k.shared = s
	}
	return k.shared
}

// Close stops the shared server, if there is one, and removes all files. After it, no
// process, goroutine or file of this kind is left. Closing again does nothing.
func (k *Kind) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var err error
	if k.shared != nil {
		err = k.shared.close()
		k.shared = nil
	}
	if k.template != nil {
		err = errors.Join(err, os.RemoveAll(k.template.root))
		k.template = nil
	}
	return err
}

func (k *Kind) open(opts ...Option) (*Server, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.openLocked(opts...)
}

func (k *Kind) openLocked(opts ...Option) (*Server, error) {
	t, err := k.fresh()
	if err != nil {
		return nil, err
	}
	dir, err := t.copy()
	if err != nil {
		return nil, err
	}
	s := &Server{kind: k, as: t.as, dir: dir}
	for _, opt := range opts {
		opt(s)
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}
