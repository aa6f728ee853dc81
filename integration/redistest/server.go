package redistest

import (
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/integration/internal/private"
)

var kind = &private.Kind{
	Name:  "redistest",
	Ready: "eady to accept connections", // "Ready" for a port, "now ready" for a socket
	End:   syscall.SIGTERM,
	Run: func(dir, data string, settings []string) (*exec.Cmd, error) {
		server, err := private.Binary("redis-server", "/usr/local/sbin", "/usr/sbin")
		if err != nil {
			return nil, err
		}
		var args []string
		for _, setting := range slices.Concat([]string{
			"port 0", "unixsocket " + socket(dir), "dir " + data, "save ", "loglevel notice",
			"appendonly yes", "appendfsync always",
		}, settings) {
			name, value, _ := strings.Cut(setting, " ")
			args = append(args, "--"+name, value)
		}
		return exec.Command(server, args...), nil
	},
}

func socket(dir string) string { return filepath.Join(dir, "s") }

// Server is a Redis that belongs to the tests. Its methods are not to be called at the same
// time, except Client.
type Server struct {
	*private.Server
	addr string // host and port, if it has one
	pid  int    // while it is frozen
}

// Option changes how a server is started.
type Option = private.Option

// WithSetting sets one line of its configuration.
func WithSetting(name, value string) Option { return private.WithSettings(name + " " + value) }

// WithoutSync lets no command wait for the disk: a killed server keeps its commands all
// the same, and a machine that loses power does not.
func WithoutSync() Option { return WithSetting("appendfsync", "no") }

// Start starts a server for one test and stops it when the test ends.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	return &Server{Server: kind.Start(t, opts...)}
}

// StartAtPort is Start for a server that also listens on a free port of the loopback.
func StartAtPort(t testing.TB, opts ...Option) *Server {
	t.Helper()
	ports, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	s := Start(t, append(opts, atPort(ports[0]))...)
	s.addr = address(ports[0])
	return s
}

// Shared returns the server that all tests of the binary share, and starts it for the
// first of them. Call [Close] at the end of TestMain.
func Shared(t testing.TB) *Server {
	t.Helper()
	return &Server{Server: kind.Shared(t)}
}

// Close stops the shared server, if there is one, and removes all files. Closing again does
// nothing.
func Close() error { return kind.Close() }

// Addr returns host and port of a server that was started with a port.
func (s *Server) Addr() string { return s.addr }

// Options are those of a client of the server, through its socket.
func (s *Server) Options() *redis.Options {
	return &redis.Options{Network: "unix", Addr: socket(s.Dir())}
}

// Client returns a client that lasts as long as the test.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	return client(t, s.Options())
}

func client(t testing.TB, o *redis.Options) *redis.Client {
	c := redis.NewClient(o)
	t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			t.Error(err)
		}
	})
	return c
}

// Freeze stops the server's process as SIGSTOP does: connections stay, and nothing is
// answered until Thaw.
func (s *Server) Freeze(t testing.TB) {
	t.Helper()
	info, err := s.Client(t).Info(t.Context(), "server").Result()
	must(t, err)
	s.pid, err = strconv.Atoi(facts(info)["process_id"])
	must(t, err)
	must(t, syscall.Kill(s.pid, syscall.SIGSTOP))
	t.Cleanup(func() { s.Thaw(t) }) // or nobody can stop it
}

// Thaw undoes Freeze. Thawing one that is not frozen does nothing.
func (s *Server) Thaw(t testing.TB) {
	t.Helper()
	if s.pid != 0 {
		must(t, syscall.Kill(s.pid, syscall.SIGCONT))
		s.pid = 0
	}
}

// dial connects to the server, as a relay does.
func (s *Server) dial() (net.Conn, error) { return net.Dial("unix", socket(s.Dir())) }
