// Package localdb opens the database of an example: a SQLite file in a temporary
// directory, or a PostgreSQL server of the reader's.
package localdb

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// DB is an open database and its dialect.
type DB struct {
	*sql.DB
	Dialect sqlfence.Dialect

	dir string
}

// Open opens the PostgreSQL server at dsn, or a new SQLite file if dsn is empty.
func Open(dsn string) (*DB, error) {
	if dsn != "" {
		db, err := sql.Open("pgx", dsn)
		return &DB{DB: db, Dialect: sqlfence.Postgres}, err
	}
	dir, err := os.MkdirTemp("", "etcdfence-example-")
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", sqliteDSN(filepath.Join(dir, "example.db")))
	return &DB{DB: db, Dialect: sqlfence.SQLite, dir: dir}, err
}

// sqliteDSN sets what sqlfence asks for. Without IMMEDIATE a transaction that reads
// first fails with SQLITE_BUSY when another one writes in between; without a busy
// timeout it fails instead of waiting.
func sqliteDSN(file string) string {
	// snippet: sqlite
	dsn := "file:" + file + "?" + url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)"},
	}.Encode()
	// end snippet
	return dsn
}

// Exec runs statements one after another.
func (db *DB) Exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the database and removes the file.
func (db *DB) Close() error {
	err := db.DB.Close()
	if db.dir != "" {
		err = errors.Join(err, os.RemoveAll(db.dir))
	}
	return err
}
