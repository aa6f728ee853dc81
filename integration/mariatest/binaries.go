package mariatest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// errMissing says what to do, because a machine without MariaDB is the commonest reason
// for these tests to fail.
var errMissing = errors.New("mariatest: no MariaDB server binaries (mariadb-install-db, mariadbd) on PATH or in /usr/sbin: run `make setup`")

// binary returns the path of a program. The server's is kept off an ordinary user's PATH.
func binary(name string) (string, error) {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin", "/usr/libexec") {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", errMissing
}
