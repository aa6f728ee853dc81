// Package sqlfence_test runs the fence against real databases: a PostgreSQL and a
// MariaDB started for these tests, and SQLite files.
package sqlfence_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/etcdfence/etcdfence/integration/mariatest"
	"github.com/etcdfence/etcdfence/integration/pgtest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := errors.Join(pgtest.Close(), mariatest.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
