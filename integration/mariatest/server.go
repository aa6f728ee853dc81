package mariatest

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/etcdfence/etcdfence/integration/internal/private"
)

// logSize is the least that the server takes. It is made at once and copied each time.
const logSize = "--innodb-log-file-size=4M"

var kind = &private.Kind{
	Name:  "mariatest",
	Ready: "ready for connections",
	End:   syscall.SIGTERM,
	Users: []string{"mysql", "nobody"},
	Install: func(data string) (*exec.Cmd, error) {
		install, err := binary("mariadb-install-db")
		if err != nil {
			return nil, err
		}
		return exec.Command(install, "--no-defaults", "--datadir="+data, logSize,
			"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"), nil
	},
	Run: func(dir, data string, settings []string) (*exec.Cmd, error) {
		server, err := binary("mariadbd")
		if err != nil {
			return nil, err
		}
		args := []string{"--no-defaults", "--datadir=" + data, "--socket=" + socket(dir),
			"--pid-file=" + filepath.Join(dir, "pid"), "--tmpdir=" + dir, "--skip-networking", logSize}
		for _, setting := range append([]string{
			"innodb-flush-log-at-trx-commit=2", // a killed server keeps its commits
			"innodb-buffer-pool-size=32M", "max-connections=150", "skip-log-bin",
		}, settings...) {
			args = append(args, "--"+setting)
		}
		return exec.Command(server, args...), nil
	},
}

// binary finds a program. The server's is kept off an ordinary user's PATH.
func binary(name string) (string, error) {
	return private.Binary(name, "/usr/sbin", "/usr/local/sbin", "/usr/libexec")
}

func socket(dir string) string { return filepath.Join(dir, "s") }

// Server is a MariaDB that belongs to the tests. Its methods are not to be called at
// the same time, except DSN and Database.
type Server struct{ *private.Server }

// Option changes how a server is started.
type Option = private.Option

// WithSync lets every commit wait for the disk, as a production server does. Without it
// a commit survives the death of the server but not of the machine, and is much faster.
func WithSync() Option { return private.WithSettings("innodb-flush-log-at-trx-commit=1") }

// WithSetting sets one option, as on the server's command line, without the dashes.
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
