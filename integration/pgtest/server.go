package pgtest

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/etcdfence/etcdfence/integration/internal/private"
)

const port = "5432" // only part of the socket's name

var kind = &private.Kind{
	Name:  "pgtest",
	Ready: "database system is ready to accept connections", // in English by LC_ALL
	End:   syscall.SIGINT,                                   // open transactions are rolled back
	Users: []string{"postgres", "nobody"},
	Install: func(data string) (*exec.Cmd, error) {
		bin, err := binaries()
		if err != nil {
			return nil, err
		}
		return exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust",
			"-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"), nil
	},
	Run: func(dir, data string, settings []string) (*exec.Cmd, error) {
		bin, err := binaries()
		if err != nil {
			return nil, err
		}
		args := []string{"-D", data}
		for _, setting := range append([]string{
			"fsync=off", "full_page_writes=off", "synchronous_commit=on", // a killed server keeps its commits
			"listen_addresses=", "port=" + port, "unix_socket_directories=" + dir,
			"shared_buffers=32MB", "max_connections=150", "log_destination=stderr", "lc_messages=C",
		}, settings...) {
			args = append(args, "-c", setting)
		}
		return exec.Command(filepath.Join(bin, "postgres"), args...), nil
	},
}

// Server is a PostgreSQL that belongs to the tests. Its methods are not to be called at
// the same time, except DSN and Database.
type Server struct{ *private.Server }

// Option changes how a server is started.
type Option = private.Option

// WithSync lets every commit wait for the disk, as a production server does. Without it
// a commit survives the death of the server but not of the machine, and is much faster.
func WithSync() Option { return private.WithSettings("fsync=on", "full_page_writes=on") }

// WithSetting sets one parameter, as in postgresql.conf.
func WithSetting(name, value string) Option { return private.WithSettings(name + "=" + value) }

// Start starts a server for one test and stops it when the test ends. It fails the test
// if there are no binaries or the server does not come up.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	return &Server{kind.Start(t, opts...)}
}

// Shared returns the server that all tests of the binary share, and starts it for the
// first of them. Call [Close] at the end of TestMain.
func Shared(t testing.TB) *Server {
	t.Helper()
	return &Server{kind.Shared(t)}
}

// Close stops the shared server, if there is one, and removes all files. After it, no
// process, goroutine or file of this package is left. Closing again does nothing.
func Close() error { return kind.Close() }
