package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// errMissing says what to do, because a machine without PostgreSQL is the commonest
// reason for these tests to fail.
var errMissing = errors.New("pgtest: no PostgreSQL server binaries (initdb, postgres) on PATH or in /usr/lib/postgresql: run `make setup`")

// binaries returns the directory with the newest initdb and postgres.
func binaries() (string, error) {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	packaged, err := filepath.Glob("/usr/lib/postgresql/*/bin") // Debian keeps them off PATH
	if err != nil {
		return "", fmt.Errorf("pgtest: %w", err)
	}
	slices.SortFunc(packaged, func(a, b string) int { return major(b) - major(a) })
	for _, dir := range append(dirs, packaged...) {
		if executable(dir, "initdb") && executable(dir, "postgres") {
			return dir, nil
		}
	}
	return "", errMissing
}

func executable(dir, name string) bool {
	_, err := exec.LookPath(filepath.Join(dir, name))
	return err == nil
}

func major(dir string) int {
	n, _ := strconv.Atoi(strings.Split(filepath.Base(filepath.Dir(dir)), ".")[0])
	return n
}
