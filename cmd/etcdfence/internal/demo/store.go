package demo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// What --store may begin with.
const (
	kindMemory   = "memory"
	kindSQLite   = "sqlite"
	kindPostgres = "postgres"
)

// StoreNames are the values of --store, for a shell to complete.
var StoreNames = []string{kindSQLite, kindMemory, kindPostgres + "="}

// store is the store as the director sees it.
type store interface {
	// job is what a worker must know.
	job() storeJob

	// line is a connection to pass to a worker's process, or nil if it needs none.
	line() (*os.File, error)

	// holds reads the value that was written with or without a fence.
	holds(ctx context.Context, fenced bool) (string, error)

	// close removes everything that the demonstration has made.
	close(ctx context.Context) error
}

// parseStore splits the value of --store.
func parseStore(s string) (kind, dsn string, err error) {
	kind, dsn, has := strings.Cut(s, "=")
	switch {
	case kind == kindPostgres && dsn != "", (kind == kindMemory || kind == kindSQLite) && !has:
		return kind, dsn, nil
	case kind == kindPostgres:
		return "", "", errors.New("--store postgres needs a data source name: --store postgres=postgres://user@host/database")
	}
	return "", "", fmt.Errorf("--store %s is not one of sqlite, memory, postgres=DSN", kind)
}

// storeTitle is what people call a kind of store.
func storeTitle(kind string) string {
	return map[string]string{kindMemory: "memory", kindSQLite: "SQLite", kindPostgres: "PostgreSQL"}[kind]
}

// openStore makes the store and all it needs. run is a name that nothing else has.
func openStore(ctx context.Context, spec, dir, run string) (store, error) {
	kind, dsn, err := parseStore(spec)
	if err != nil {
		return nil, err
	}
	if kind == kindMemory {
		return newMemoryStore(lockName)
	}
	if kind == kindSQLite {
		dsn = sqliteDSN(filepath.Join(dir, "store.db"))
	}
	j := storeJob{Kind: kind, DSN: dsn, Lock: lockName, Table: "etcdfence_demo_" + run}
	db, err := openDatabase(j)
	if err != nil {
		return nil, err
	}
	s := &sqlStore{database: db, told: j}
	if err := db.create(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot use the store %s: %w", storeTitle(kind), err), db.Close())
	}
	return s, nil
}

func sqliteDSN(file string) string {
	return "file:" + file + "?" + url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)"},
	}.Encode()
}

// sqlStore is a database with its tables.
type sqlStore struct {
	*database
	told storeJob
}

func (s *sqlStore) job() storeJob           { return s.told }
func (s *sqlStore) line() (*os.File, error) { return nil, nil }

func (s *sqlStore) close(ctx context.Context) error {
	return errors.Join(s.drop(ctx), s.Close())
}
