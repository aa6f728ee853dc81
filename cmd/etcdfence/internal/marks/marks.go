// Package marks reads what stores have accepted, wherever this library keeps a list of it.
package marks

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// Kinds are what a store's name may begin with.
var Kinds = []string{"postgres=", "mysql=", "sqlite="}

// Store is a database that was named on the command line.
type Store struct {
	Name    string // as given, without a password
	db      *sql.DB
	dialect sqlfence.Dialect
}

// Open takes KIND=DSN. It does not connect yet.
func Open(spec string) (*Store, error) {
	kind, dsn, _ := strings.Cut(spec, "=")
	if dsn == "" {
		return nil, fmt.Errorf("%q is not one of postgres=DSN, mysql=DSN, sqlite=FILE", kind)
	}
	s := &Store{Name: kind}
	var driver string
	switch kind {
	case "postgres":
		driver, s.dialect = "pgx", sqlfence.Postgres
	case "mysql":
		driver, s.dialect = "mysql", sqlfence.MySQL
	case "sqlite":
		driver, s.dialect = "sqlite", sqlfence.SQLite
		if _, err := os.Stat(dsn); err != nil { // the driver would make an empty one
			return nil, err
		}
		s.Name += " " + dsn
		dsn = "file:" + (&url.URL{Path: dsn}).EscapedPath() + "?mode=ro"
	default:
		return nil, fmt.Errorf("%q is not one of postgres, mysql, sqlite", kind)
	}
	var err error
	if s.db, err = sql.Open(driver, dsn); err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return s, nil
}

// Read returns all marks of one table.
func (s *Store) Read(ctx context.Context, table string) ([]fence.Stamp, error) {
	r, err := sqlfence.New(s.db, s.dialect, &sqlfence.Options{Table: table})
	if err != nil {
		return nil, err
	}
	marks, err := r.Marks(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return marks, nil
}

// Close closes the connections.
func (s *Store) Close() error { return s.db.Close() }
