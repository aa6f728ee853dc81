package sqlfence_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/ncruces/go-sqlite3/driver"
	_ "modernc.org/sqlite"

	"github.com/etcdfence/etcdfence/fence/sqlfence"
	"github.com/etcdfence/etcdfence/integration/mariatest"
	"github.com/etcdfence/etcdfence/integration/pgtest"
)

// SQLite comes through modernc.org/sqlite: pure Go, the most used of its kind, and its
// errors carry their code, so it takes the same path as PostgreSQL's SQLSTATE. ncruces
// is here too, for the shorter tests, because its error type cannot be named without
// linking it: it stands for the drivers that are recognised by their texts.
//
// MariaDB is spoken to with the parameters in the text, which is what the documentation
// asks for. The variant has the driver's other way, prepared statements, and the flag that
// changes how rows are counted.
//
// The simple protocol is what PostgreSQL gets behind some poolers: the driver writes
// the parameters into the text, and nothing tells it their types.
var stores = []store{
	{name: "postgres", dialect: sqlfence.Postgres, driver: "pgx", dsn: postgresDSN("")},
	{name: "sqlite", dialect: sqlfence.SQLite, driver: "sqlite", dsn: sqliteDSN},
	{name: "mariadb", dialect: sqlfence.MySQL, driver: "mysql", dsn: mariaDSN("?interpolateParams=true")},
	{name: "postgres-simple", dialect: sqlfence.Postgres, driver: "pgx", dsn: postgresDSN(" default_query_exec_mode=simple_protocol"), variant: true},
	{name: "sqlite-ncruces", dialect: sqlfence.SQLite, driver: "sqlite3", dsn: sqliteDSN, variant: true},
	{name: "mariadb-found-rows", dialect: sqlfence.MySQL, driver: "mysql", dsn: mariaDSN("?clientFoundRows=true"), variant: true},
}

type store struct {
	name    string
	dialect sqlfence.Dialect
	driver  string
	dsn     func(t *testing.T) string // of an empty database that lives as long as the test
	variant bool                      // the same database by another way: short tests only
}

func postgresDSN(more string) func(*testing.T) string {
	return func(t *testing.T) string { return pgtest.Shared(t).Database(t) + more }
}

func mariaDSN(more string) func(*testing.T) string {
	return func(t *testing.T) string { return mariatest.Shared(t).Database(t) + more }
}

func sqliteDSN(t *testing.T) string {
	return "file:" + filepath.Join(t.TempDir(), "test.db") + "?" + url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(20000)", "journal_mode(wal)", "synchronous(normal)", "foreign_keys(on)"},
	}.Encode()
}

// patience bounds what must come at once: a test that would hang fails instead.
const patience = 20 * time.Second

// site is one database with the tables of a test in it.
type site struct {
	store
	dsn   string
	db    *sql.DB
	marks *sqlfence.Resource
}

// onStores runs a test on PostgreSQL, SQLite and MariaDB.
func onStores(t *testing.T, test func(t *testing.T, s *site)) {
	for _, st := range stores {
		if !st.variant {
			t.Run(st.name, func(t *testing.T) { test(t, newSite(t, st)) })
		}
	}
}

// onServers leaves SQLite out, which has no connection to lose and one writer at a time.
func onServers(t *testing.T, test func(t *testing.T, s *site)) {
	onStores(t, func(t *testing.T, s *site) {
		if s.dialect != sqlfence.SQLite {
			test(t, s)
		}
	})
}

// onAllStores adds the variants.
func onAllStores(t *testing.T, test func(t *testing.T, s *site)) {
	for _, st := range stores {
		t.Run(st.name, func(t *testing.T) { test(t, newSite(t, st)) })
	}
}

func newSite(t *testing.T, st store) *site {
	t.Helper()
	s := &site{store: st, dsn: st.dsn(t)}
	s.db = s.open(t)
	s.marks = s.resource(t, s.db, nil)
	if err := s.marks.EnsureSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.exec(t, "CREATE TABLE accounts (id varchar(100) PRIMARY KEY, value bigint NOT NULL)")
	s.exec(t, "INSERT INTO accounts VALUES ('a', 0), ('b', 0)")
	// Written in the same transaction as the change, so its order is the order of the
	// changes, whatever clients believe.
	identity := map[sqlfence.Dialect]string{
		sqlfence.Postgres: "bigserial PRIMARY KEY",
		sqlfence.SQLite:   "integer PRIMARY KEY AUTOINCREMENT",
		sqlfence.MySQL:    "bigint PRIMARY KEY AUTO_INCREMENT",
	}[st.dialect]
	s.exec(t, "CREATE TABLE journal (n "+identity+", guard text, revision bigint, sequence bigint)")
	return s
}

// open returns another handle on the same database.
func (s *site) open(t *testing.T) *sql.DB {
	t.Helper()
	return openDB(t, s.driver, s.dsn)
}

func openDB(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func (s *site) resource(t *testing.T, db *sql.DB, opts *sqlfence.Options) *sqlfence.Resource {
	t.Helper()
	r, err := sqlfence.New(db, s.dialect, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sql writes parameters the way the store wants them. Tests write $1, and use each of
// them once and in order.
func (s *site) sql(query string) string {
	switch s.dialect {
	case sqlfence.SQLite:
		return strings.ReplaceAll(query, "$", "?")
	case sqlfence.MySQL:
		return parameter.ReplaceAllString(query, "?")
	}
	return query
}

var parameter = regexp.MustCompile(`\$\d+`)

func (s *site) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := s.db.ExecContext(ctx, s.sql(query), args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// number returns the one integer that a query selects.
func (s *site) number(t *testing.T, query string, args ...any) (n int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.db.QueryRowContext(ctx, s.sql(query), args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (s *site) value(t *testing.T, id string) int64 {
	t.Helper()
	return s.number(t, "SELECT value FROM accounts WHERE id = $1", id)
}
