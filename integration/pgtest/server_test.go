package pgtest_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/etcdfence/etcdfence/integration/pgtest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := pgtest.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) }) // the context is done: it does not wait
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func count(t *testing.T, conn *pgx.Conn) (n int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM x").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDatabasesAreApart(t *testing.T) {
	s := pgtest.Shared(t)
	for range 2 {
		exec(t, connect(t, s.Database(t)), "CREATE TABLE x (n int)")
	}
}

// What was committed is there after a kill, and what was not is gone.
func TestKillAndRestart(t *testing.T) {
	s := pgtest.Start(t)
	dsn := s.Database(t)
	conn := connect(t, dsn)
	exec(t, conn, "CREATE TABLE x (n int)", "INSERT INTO x VALUES (1)", "BEGIN", "INSERT INTO x VALUES (2)")
	s.Kill(t)
	if _, err := conn.Exec(t.Context(), "COMMIT"); err == nil {
		t.Fatal("a killed server has answered")
	}
	if _, err := pgx.Connect(t.Context(), dsn); err == nil {
		t.Fatal("a killed server takes connections")
	}
	s.Restart(t)
	if n := count(t, connect(t, dsn)); n != 1 {
		t.Fatalf("%d rows, want 1", n)
	}
}

func TestProxyLosesAnswer(t *testing.T) {
	s := pgtest.Shared(t)
	dsn := s.Database(t)
	proxy := pgtest.NewProxy(t, s)
	conn := connect(t, proxy.DSN(dsn))
	exec(t, conn, "CREATE TABLE x (n int)", "BEGIN", "INSERT INTO x VALUES (1)")
	proxy.Lose("COMMIT", 1)
	exec(t, conn, "INSERT INTO x VALUES (2)") // another answer passes
	if _, err := conn.Exec(t.Context(), "COMMIT"); err == nil || !conn.IsClosed() {
		t.Fatalf("got %v, want a broken connection", err)
	}
	if n := count(t, connect(t, proxy.DSN(dsn))); n != 2 || proxy.Lost() != 1 {
		t.Fatalf("%d rows and %d lost answers, want 2 and 1", n, proxy.Lost())
	}
}
