package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/rogpeppe/go-internal/testscript"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// leftovers returns what a run with the given work directory has left: temporary files,
// and processes, which are known by the WORK in their environment.
func leftovers(work string) error {
	var errs []error
	left, err := os.ReadDir(filepath.Join(work, ".tmp"))
	errs = append(errs, err)
	for _, entry := range left {
		errs = append(errs, fmt.Errorf("left in the temporary directory: %s", entry.Name()))
	}
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	errs = append(errs, err)
	for _, file := range environments {
		env, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended, or is not ours
		}
		if strings.Contains("\x00"+string(env), "\x00WORK="+work+"\x00") {
			errs = append(errs, fmt.Errorf("a process is left: %s", filepath.Dir(file)))
		}
	}
	return errors.Join(errs...)
}

// remaining lists the keys of a server.
func remaining(t testing.TB, server *etcdtest.Server) (keys []string) {
	t.Helper()
	resp, err := server.Client().Get(context.WithoutCancel(t.Context()), "\x00", clientv3.WithFromKey(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range resp.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys
}

// notables checks that the database in $DSN is as empty as it was.
func noTables(ts *testscript.TestScript, _ bool, _ []string) {
	db, err := sql.Open("pgx", ts.Getenv("DSN"))
	ts.Check(err)
	defer db.Close()
	var names string
	ts.Check(db.QueryRow("SELECT coalesce(string_agg(relname, ' '), '') FROM pg_class WHERE relnamespace = 'public'::regnamespace").Scan(&names))
	if names != "" {
		ts.Fatalf("left in the database: %s", names)
	}
}

// complete checks that a file has the whole story as JSON.
func completeJSON(ts *testscript.TestScript, _ bool, args []string) {
	var story struct {
		Acts []struct {
			Fence  bool
			Holds  string
			Events []struct{ Who, Event, Answer string }
		}
		Stale bool `json:"stale_write_refused"`
		Lost  bool `json:"value_lost_without_fence"`
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(d.Decode(&story))
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		ts.Fatalf("something follows the object: %v", err)
	}
	var all []string
	for _, act := range story.Acts {
		for _, e := range act.Events {
			all = append(all, strings.TrimSpace(e.Who+" "+e.Event+" "+e.Answer))
		}
		all = append(all, fmt.Sprintf("fence %v holds %s", act.Fence, act.Holds))
	}
	want := splitLines(ts.ReadFile(args[1]))
	if got := strings.Join(all, "\n"); got != strings.Join(want, "\n") {
		ts.Fatalf("the story is\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if !story.Stale || !story.Lost {
		ts.Fatalf("refused %v, lost %v; want both", story.Stale, story.Lost)
	}
}

// xml checks that a file is one well-formed XML document.
func wellFormed(ts *testscript.TestScript, _ bool, args []string) {
	d := xml.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			ts.Fatalf("%s: %v", args[0], err)
		}
	}
}

func splitLines(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }
