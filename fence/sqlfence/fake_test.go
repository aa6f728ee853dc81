package sqlfence

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// fakeDB is a database that writes down what is asked of it and gives the answers that
// a test wants: how many rows a statement changes, and what Commit returns.
type fakeDB struct {
	log    []string
	rows   map[string]int64  // by first word: UPDATE, INSERT
	on     func(word string) // called for each statement
	commit error
	level  driver.IsolationLevel
	db     *sql.DB
}

func (f *fakeDB) open(t *testing.T) *sql.DB {
	f.db = sql.OpenDB(f)
	f.db.SetMaxOpenConns(1)
	t.Cleanup(func() { f.db.Close() })
	return f.db
}

// idle waits for the one connection to be free: database/sql rolls back in a goroutine
// of its own when a context ends.
func (f *fakeDB) idle(t *testing.T) {
	t.Helper()
	conn, err := f.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

func (f *fakeDB) did(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(f.log, want) {
		t.Errorf("the database was asked for %q, want %q", f.log, want)
	}
	f.log = nil
}

func (f *fakeDB) Connect(context.Context) (driver.Conn, error) { return f, nil }
func (f *fakeDB) Driver() driver.Driver                        { return nil }
func (f *fakeDB) Close() error                                 { return nil }
func (f *fakeDB) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }
func (f *fakeDB) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }

func (f *fakeDB) BeginTx(_ context.Context, opts driver.TxOptions) (driver.Tx, error) {
	f.level = opts.Isolation
	f.log = append(f.log, "BEGIN")
	return f, nil
}

func (f *fakeDB) Commit() error {
	f.log = append(f.log, "COMMIT")
	return f.commit
}

func (f *fakeDB) Rollback() error {
	f.log = append(f.log, "ROLLBACK")
	return nil
}

func (f *fakeDB) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	word := strings.Fields(query)[0]
	f.log = append(f.log, word)
	if f.on != nil {
		f.on(word)
	}
	return driver.RowsAffected(f.rows[word]), nil
}

func (f *fakeDB) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	word, _, _ := strings.Cut(query, "\n")
	word, _, _ = strings.Cut(word, " ")
	f.log = append(f.log, word)
	return none{}, nil
}

// none is a result without rows.
type none struct{}

func (none) Columns() []string         { return make([]string, 5) }
func (none) Close() error              { return nil }
func (none) Next([]driver.Value) error { return io.EOF }
