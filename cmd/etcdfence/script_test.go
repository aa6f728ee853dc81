package main

import (
	"context"
	"database/sql"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
	"github.com/etcdfence/etcdfence/integration/pgtest"
)

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Values[testKey{}] = env.T()
			examples, err := filepath.Abs("../../examples")
			env.Setenv("EXAMPLES", examples)
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":    exits,
			"etcd":     startEtcd,
			"postgres": startPostgres,
			"mark":     writeMark,
			"sqlite":   newSQLite,
			"tables":   tablesAre,
			"notables": noTables,
			"clean":    func(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(leftovers(ts.Getenv("WORK"))) },
			"complete": completeJSON,
			"xml":      wellFormed,
			"oneline":  oneLine,
		},
	})
}

type testKey struct{}

func test(ts *testscript.TestScript) testing.TB { return ts.Value(testKey{}).(testing.TB) }

// exits CODE PROGRAM ARGS... runs a program that must exit with the code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("%v: exit code %d, want %d", args[1:], code, want)
	}
}

// etcd starts a server of its own and leaves its address in $ETCD. At the end of the
// script no client may be connected any more, and no lease may be left.
func startEtcd(ts *testscript.TestScript, _ bool, _ []string) {
	t := test(ts)
	server := etcdtest.Start(t)
	t.Cleanup(func() {
		server.NoLeasesLeft(t)
		if keys := remaining(t, server); len(keys) > 0 {
			t.Errorf("keys left in etcd: %q", keys)
		}
	})
	ts.Setenv("ETCD", server.Address())
}

// postgres makes an empty database and leaves its DSN in $DSN.
func startPostgres(ts *testscript.TestScript, _ bool, _ []string) {
	t := test(ts)
	dsn := pgtest.Shared(t).Database(t)
	ts.Setenv("DSN", dsn)
	for word := range strings.FieldsSeq(dsn) { // as psql takes them without it
		switch name, value, _ := strings.Cut(word, "="); name {
		case "host":
			ts.Setenv("PGDIR", value)
		case "dbname":
			ts.Setenv("PGNAME", value)
		}
	}
}

// mark FILE LOCK EPOCH REVISION makes an SQLite file that has accepted a token.
func writeMark(ts *testscript.TestScript, _ bool, args []string) {
	epoch, err1 := strconv.ParseInt(args[2], 10, 64)
	revision, err2 := strconv.ParseInt(args[3], 10, 64)
	token, err3 := fence.NewToken(args[1], epoch, revision, "owner")
	ts.Check(errors.Join(err1, err2, err3))
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	marks, err := sqlfence.New(db, sqlfence.SQLite, nil)
	ts.Check(err)
	ts.Check(marks.EnsureSchema(context.Background()))
	ts.Check(marks.Claim(context.Background(), token))
}

// sqlite FILE makes a database with a table of jobs.
func newSQLite(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	_, err = db.ExecContext(context.Background(), "CREATE TABLE jobs (id integer PRIMARY KEY, value text, rev integer, seq integer); INSERT INTO jobs VALUES (1, '', 0, 0)")
	ts.Check(err)
}

// tables NAMES... are all that is in the database, and empty.
func tablesAre(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("pgx", ts.Getenv("DSN"))
	ts.Check(err)
	defer db.Close()
	var names string
	ts.Check(db.QueryRow("SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'").Scan(&names))
	if names != strings.Join(args, " ") {
		ts.Fatalf("in the database: %s", names)
	}
	for _, name := range args {
		var n int
		ts.Check(db.QueryRow("SELECT count(*) FROM " + name).Scan(&n))
		if n > 0 {
			ts.Fatalf("%s has %d rows", name, n)
		}
	}
}

func oneLine(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	if n := len(splitLines(text)); n != 1 {
		ts.Fatalf("%d lines, want 1:\n%s", n, text)
	}
}
