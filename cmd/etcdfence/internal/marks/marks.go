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

// Open takes KIND=DSN. It does not connect yet, and will only read.
func Open(spec string) (*Store, error) {
	kind, dsn, _ := strings.Cut(spec, "=")
	if dsn == "" {
		return nil, fmt.Errorf("%q is not one of postgres=DSN, mysql=DSN, sqlite=FILE", kind)
	}
	db, dialect, err := Database(kind, dsn, Read)
	if err != nil {
		return nil, err
	}
	name := kind
	if dialect == sqlfence.SQLite {
		name += " " + dsn
	}
	return &Store{Name: name, db: db, dialect: dialect}, nil
}

// Mode is what a database is opened for.
type Mode string

// The modes.
const (
	Read  Mode = "ro"
	Write Mode = "rw"
)

// Database opens one with a driver of ours. A file of SQLite must be there: the driver would
// make an empty one.
func Database(kind, dsn string, mode Mode) (*sql.DB, sqlfence.Dialect, error) {
	var driver string
	var dialect sqlfence.Dialect
	switch kind {
	case "postgres":
		driver, dialect = "pgx", sqlfence.Postgres
	case "mysql":
		driver, dialect = "mysql", sqlfence.MySQL
	case "sqlite":
		driver, dialect = "sqlite", sqlfence.SQLite
		if _, err := os.Stat(dsn); err != nil {
			return nil, "", err
		}
		dsn = "file:" + (&url.URL{Path: dsn}).EscapedPath() + "?mode=" + string(mode) + "&_txlock=immediate&_pragma=busy_timeout(5000)"
	default:
		return nil, "", fmt.Errorf("%q is not one of postgres, mysql, sqlite", kind)
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", kind, err)
	}
	return db, dialect, nil
}

// All returns all marks of one table.
func (s *Store) All(ctx context.Context, table string) ([]fence.Stamp, error) {
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
