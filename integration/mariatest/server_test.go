package mariatest_test

import (
	"database/sql"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/etcdfence/etcdfence/integration/mariatest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := mariatest.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func count(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM x").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDatabasesAreApart(t *testing.T) {
	s := mariatest.Shared(t)
	for range 2 {
		exec(t, open(t, s.Database(t)), "CREATE TABLE x (n int)")
	}
}

// What was committed is there after a kill, and what was not is gone.
func TestKillAndRestart(t *testing.T) {
	s := mariatest.Start(t)
	dsn := s.Database(t)
	db := open(t, dsn)
	exec(t, db, "CREATE TABLE x (n int)", "INSERT INTO x VALUES (1)", "BEGIN", "INSERT INTO x VALUES (2)")
	s.Kill(t)
	if _, err := db.ExecContext(t.Context(), "COMMIT"); err == nil {
		t.Fatal("a killed server has answered")
	}
	if err := open(t, dsn).PingContext(t.Context()); err == nil {
		t.Fatal("a killed server takes connections")
	}
	s.Restart(t)
	if n := count(t, open(t, dsn)); n != 1 {
		t.Fatalf("%d rows, want 1", n)
	}
}

func TestProxyLosesAnswer(t *testing.T) {
	s := mariatest.Shared(t)
	dsn := s.Database(t)
	proxy := mariatest.NewProxy(t, s)
	db := open(t, proxy.DSN(dsn))
	exec(t, db, "CREATE TABLE x (n int)", "BEGIN", "INSERT INTO x VALUES (1)")
	proxy.Lose("COMMIT", 1)
	exec(t, db, "INSERT INTO x VALUES (2)") // another answer passes
	if _, err := db.ExecContext(t.Context(), "COMMIT"); err == nil {
		t.Fatal("a lost answer has arrived")
	}
	if n := count(t, open(t, proxy.DSN(dsn))); n != 2 || proxy.Lost() != 1 {
		t.Fatalf("%d rows and %d lost answers, want 2 and 1", n, proxy.Lost())
	}
}
