package mariatest

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql" // the driver "mysql"

	"github.com/etcdfence/etcdfence/integration/internal/private"
)

// The driver prints broken connections to stderr, and here they are broken on purpose.
func init() { _ = mysql.SetLogger(&mysql.NopLogger{}) }

var databases atomic.Int64

// DSN returns how go-sql-driver/mysql connects to a database of the server, without
// parameters: put them behind it with "?".
func (s *Server) DSN(database string) string {
	return fmt.Sprintf("root@unix(%s)/%s", socket(s.Dir()), database)
}

// Database creates an empty database for one test and returns its DSN. It is dropped when
// the test ends, if the server runs then.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", databases.Add(1))
	// latin1, in which different names are equal: nothing may depend on a better default.
	if err := s.admin("CREATE DATABASE " + name + " CHARACTER SET latin1 COLLATE latin1_swedish_ci"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !s.Running() {
			return
		}
		if err := s.admin("DROP DATABASE " + name); err != nil {
			t.Error(err)
		}
	})
	return s.DSN(name)
}

func (s *Server) admin(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), private.Patience)
	defer cancel()
	db, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		return fmt.Errorf("mariatest: %w", err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("mariatest: %s: %w", statement, err)
	}
	return nil
}
