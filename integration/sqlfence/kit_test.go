package sqlfence_test

import (
	"database/sql"
	"testing"

	"github.com/etcdfence/etcdfence/fence/fencetest"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
	"github.com/etcdfence/etcdfence/integration/mariatest"
	"github.com/etcdfence/etcdfence/integration/pgtest"
)

// The conformance kit on every database, with one server for all its cases, which some of
// them kill, behind a proxy that loses answers.
func TestKitPostgres(t *testing.T) {
	t.Parallel() // most of a case is waiting
	h := postgresHouse(t)
	t.Run("marks", func(t *testing.T) { fencetest.Run(t, h.serverMarks()) })
	t.Run("row", func(t *testing.T) { fencetest.Run(t, h.serverRow()) })
}

func TestKitMariaDB(t *testing.T) {
	t.Parallel()
	h := mariaHouse(t, "?interpolateParams=true")
	t.Run("marks", func(t *testing.T) { fencetest.Run(t, h.serverMarks()) })
	t.Run("row", func(t *testing.T) { fencetest.Run(t, h.serverRow()) })
	h.dsn = h.base + "?clientFoundRows=true"
	t.Run("found rows", func(t *testing.T) { fencetest.Run(t, h.marks(nil)) })
}

func TestKitSQLite(t *testing.T) {
	t.Parallel()
	h := &house{dialect: sqlfence.SQLite, driver: "sqlite", dsn: sqliteDSN(t)}
	t.Run("marks", func(t *testing.T) { fencetest.Run(t, h.marks(nil)) })
	t.Run("row", func(t *testing.T) { fencetest.Run(t, h.row()) })
}

// The same at the levels at which overlaps fail: contention is retried, and the truth
// stays the truth.
func TestKitAtEveryLevel(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]*house{"postgres": postgresHouse(t), "mariadb": mariaHouse(t, "?interpolateParams=true")} {
		for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
			t.Run(name+"/"+level.String(), func(t *testing.T) {
				fencetest.Run(t, h.marks(&sqlfence.Options{Isolation: level}))
			})
		}
	}
}

// house is a database that every subject gets tables of its own in.
type house struct {
	dialect           sqlfence.Dialect
	driver, dsn, base string
	kill              func() // and restart
	proxy             losing
}

func postgresHouse(t *testing.T) *house {
	server := pgtest.Start(t)
	proxy := pgtest.NewProxy(t, server)
	return &house{dialect: sqlfence.Postgres, driver: "pgx", dsn: proxy.DSN(server.Database(t)), proxy: proxy, kill: func() {
		server.Kill(t)
		server.Restart(t)
	}}
}

func mariaHouse(t *testing.T, parameters string) *house {
	server := mariatest.Start(t)
	proxy := mariatest.NewProxy(t, server)
	base := proxy.DSN(server.Database(t))
	return &house{dialect: sqlfence.MySQL, driver: "mysql", base: base, dsn: base + parameters, proxy: proxy, kill: func() {
		server.Kill(t)
		server.Restart(t)
	}}
}
