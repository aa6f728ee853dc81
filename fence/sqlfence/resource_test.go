package sqlfence

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

func stamp(t *testing.T) fence.Stamp {
	t.Helper()
	tok, err := fence.NewToken("orders/42", 0, 5, "owner")
	if err != nil {
		t.Fatal(err)
	}
	return tok.At(1)
}

func (f *fakeDB) resource(t *testing.T, opts *Options) *Resource {
	t.Helper()
	r, err := New(f.open(t), Postgres, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func nothing(context.Context, *sql.Tx) error { return nil }

// The usual case costs one statement.
func TestHotPath(t *testing.T) {
	f := &fakeDB{rows: map[string]int64{"UPDATE": 1}}
	if err := f.resource(t, nil).Apply(t.Context(), stamp(t), nothing); err != nil {
		t.Fatal(err)
	}
	f.did(t, "BEGIN", "UPDATE", "COMMIT")
}

func TestFirstStamp(t *testing.T) {
	f := &fakeDB{rows: map[string]int64{"INSERT": 1}}
	if err := f.resource(t, nil).Claim(t.Context(), stamp(t).Token()); err != nil {
		t.Fatal(err)
	}
	f.did(t, "BEGIN", "SELECT", "UPDATE", "INSERT", "COMMIT")
}

// Neither raised nor refused: the row comes and goes. It is tried twice, then handed to
// the caller as contention, and never taken for a yes.
func TestNeitherRaisedNorRefused(t *testing.T) {
	f := &fakeDB{}
	err := f.resource(t, nil).Apply(t.Context(), stamp(t), nothing)
	if !errors.Is(err, fence.ErrContended) {
		t.Fatalf("got %v, want %v", err, fence.ErrContended)
	}
	f.did(t, "BEGIN", "UPDATE", "INSERT", "SELECT", "UPDATE", "INSERT", "SELECT", "ROLLBACK")
}

func TestTwoMarksOfOneLock(t *testing.T) {
	f := &fakeDB{rows: map[string]int64{"UPDATE": 2}}
	if err := f.resource(t, nil).Apply(t.Context(), stamp(t), nothing); !errors.Is(err, ErrSchema) {
		t.Fatalf("got %v, want %v", err, ErrSchema)
	}
	f.did(t, "BEGIN", "UPDATE", "ROLLBACK")
}

func TestCommitLost(t *testing.T) {
	f := &fakeDB{rows: map[string]int64{"UPDATE": 1}, commit: io.ErrUnexpectedEOF}
	if err := f.resource(t, nil).Apply(t.Context(), stamp(t), nothing); !errors.Is(err, fence.ErrUnknownOutcome) {
		t.Fatalf("got %v, want %v", err, fence.ErrUnknownOutcome)
	}
}

// A context that ends inside the change stops the COMMIT: the outcome is known.
func TestCancelledBeforeCommit(t *testing.T) {
	f := &fakeDB{rows: map[string]int64{"UPDATE": 1}}
	ctx, cancel := context.WithCancel(t.Context())
	err := f.resource(t, nil).Apply(ctx, stamp(t), func(context.Context, *sql.Tx) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || fence.SafeToRetry(err) {
		t.Fatalf("got %v", err)
	}
	f.idle(t)
	f.did(t, "BEGIN", "UPDATE", "ROLLBACK")
}

func TestRefusedWithoutAskingTheDatabase(t *testing.T) {
	f := &fakeDB{}
	r := f.resource(t, &Options{Lock: "orders/43"})
	if err := r.Apply(t.Context(), stamp(t), nothing); !errors.Is(err, fence.ErrWrongLock) {
		t.Errorf("another lock: %v", err)
	}
	if err := r.Apply(t.Context(), fence.Stamp{}, nothing); !errors.Is(err, fence.ErrNoToken) {
		t.Errorf("no token: %v", err)
	}
	if err := r.Apply(fence.WithOperation(t.Context(), ""), stamp(t), nothing); !errors.Is(err, fence.ErrBadOperation) {
		t.Errorf("bad operation: %v", err)
	}
	f.did(t)
}

func TestIsolation(t *testing.T) {
	f := &fakeDB{rows: map[string]int64{"UPDATE": 1}}
	if err := f.resource(t, &Options{Isolation: sql.LevelSerializable}).Claim(t.Context(), stamp(t).Token()); err != nil {
		t.Fatal(err)
	}
	if f.level != driver.IsolationLevel(sql.LevelSerializable) {
		t.Errorf("the transaction began at level %v", f.level)
	}
}

func TestNewRefuses(t *testing.T) {
	f := &fakeDB{}
	db := f.open(t)
	for what, c := range map[string]struct {
		db      *sql.DB
		dialect Dialect
		opts    *Options
		says    string
	}{
		"no database":       {nil, Postgres, nil, "nil"},
		"no dialect":        {db, "", nil, "postgres"},
		"unknown dialect":   {db, "oracle", nil, "oracle"},
		"table name":        {db, Postgres, &Options{Table: "a b"}, "a b"},
		"long table name":   {db, Postgres, &Options{Table: strings.Repeat("x", 53)}, "longer"},
		"lock name":         {db, Postgres, &Options{Lock: "\x00"}, "Options.Lock"},
		"level of SQLite":   {db, SQLite, &Options{Isolation: sql.LevelReadCommitted}, "isolation"},
		"level of Postgres": {db, Postgres, &Options{Isolation: sql.LevelLinearizable}, "isolation"},
	} {
		if _, err := New(c.db, c.dialect, c.opts); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"dialect": second(NewInRow("", "a", "b")), "table": second(NewInRow(SQLite, "a.b.c", "b")), "key": second(NewInRow(SQLite, "a", "b.c")),
	} {
		if err == nil {
			t.Errorf("in row: a wrong %s passed", what)
		}
	}
}

func second[T any](_ T, err error) error { return err }
