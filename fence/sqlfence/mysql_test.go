package sqlfence

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

// numberedError has the fields of go-sql-driver's error.
type numberedError struct {
	Number   uint16
	SQLState [5]byte
	Message  string
}

func (e *numberedError) Error() string {
	return fmt.Sprintf("Error %d (%s): %s", e.Number, e.SQLState[:], e.Message)
}

func numbered(number uint16, state string) error {
	e := &numberedError{Number: number, Message: "text"}
	copy(e.SQLState[:], state)
	return e
}

func TestMySQLCode(t *testing.T) {
	for _, c := range []struct {
		err    error
		number int
		state  string
	}{
		{numbered(1213, "40001"), 1213, "40001"},
		{fmt.Errorf("wrapped: %w", numbered(1205, "HY000")), 1205, "HY000"},
		{errors.Join(errors.New("x"), numbered(1020, "HY000")), 1020, "HY000"},
		{errors.New("Error 1213 (40001): Deadlock found"), 1213, "40001"}, // another driver
		{errors.New("Error 1146: Table 'a.b' doesn't exist"), 1146, ""},
		{errors.New("it says Error 1213 (40001): somewhere"), 0, ""},
		{struct{ error }{errors.New("no number")}, 0, ""},
		{driver.ErrBadConn, 0, ""},
	} {
		if number, state := mysqlCode(c.err); number != c.number || state != c.state {
			t.Errorf("%v: got %d %q", c.err, number, state)
		}
	}
}

func TestMySQLSent(t *testing.T) {
	plain := errors.New("plain")
	for _, c := range []struct {
		err  error
		want error
	}{
		{numbered(1213, "40001"), fence.ErrContended},
		{numbered(1205, "HY000"), fence.ErrContended},
		{numbered(1020, "HY000"), fence.ErrContended},
		{numbered(3101, "40000"), fence.ErrContended},
		{numbered(1062, "23000"), plain},
		{numbered(1452, "23000"), plain},
		{numbered(1064, "42000"), plain},
		{numbered(1406, "22001"), plain},
		{numbered(1644, "45000"), plain},
		{numbered(1792, "25006"), plain},
		{numbered(1290, "HY000"), plain},
		{numbered(1180, "HY000"), fence.ErrUnknownOutcome}, // in the middle of a commit
		{numbered(1053, "08S01"), fence.ErrUnknownOutcome}, // a shutdown
		{numbered(1317, "70100"), fence.ErrUnknownOutcome}, // a killed query
		{numbered(1927, "70100"), fence.ErrUnknownOutcome}, // a killed connection
		{numbered(1030, "HY000"), fence.ErrUnknownOutcome}, // the engine's own
		{errors.New("invalid connection"), fence.ErrUnknownOutcome},
		{driver.ErrBadConn, fence.ErrUnknownOutcome},
	} {
		got := mysql.sent("commit", c.err)
		for _, kind := range []error{fence.ErrContended, fence.ErrUnknownOutcome} {
			if !errors.Is(got, c.err) || errors.Is(got, kind) != (c.want == kind) {
				t.Errorf("%v: got %v, want %v", c.err, got, c.want)
			}
		}
	}
	if !errors.Is(mysql.ours(context.Background(), "admit", numbered(1146, "42S02")), ErrSchema) {
		t.Error("a missing table is not recognised")
	}
}

func TestPositional(t *testing.T) {
	s := mysql.statement("SET a = ?2, b = ?1 WHERE c = ?2 AND d = '?' AND e < ?10")
	if s.text != "SET a = ?, b = ? WHERE c = ? AND d = '?' AND e < ?" || !slices.Equal(s.order, []int{2, 1, 2, 10}) {
		t.Errorf("got %q %v", s.text, s.order)
	}
	if got := mysql.statement("?2 ?1").args("a", "b"); got[0] != "b" || got[1] != "a" {
		t.Errorf("got %v", got)
	}
	if got := mysql.statement("SELECT 1").args("unused"); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	row, err := NewInRow(MySQL, "accounts", "id")
	if err != nil {
		t.Fatal(err)
	}
	args := row.Args(stamp(t))
	want := []any{"orders/42", "owner", int64(0), int64(5), int64(1), // Set
		int64(5), "orders/42", int64(0), int64(5), int64(0), int64(5), "owner", int64(1)} // Where
	if !slices.Equal(args, want) {
		t.Errorf("got %v", args)
	}
	if row.Set(3) != row.Set(1) || len(row.Args(fence.Stamp{})) != len(want) {
		t.Error("the numbers of MySQL's parameters mean something")
	}
}

// A row that is not there is made outside the transaction, which then begins anew.
func TestSeed(t *testing.T) {
	f := &fakeDB{rows: map[string]int64{}}
	r, err := New(f.open(t), MySQL, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.on = func(word string) {
		if word == "INSERT" {
			f.rows["UPDATE"] = 1
		}
	}
	if err := r.Apply(t.Context(), stamp(t), nothing); err != nil {
		t.Fatal(err)
	}
	f.did(t, "BEGIN", "UPDATE", "SELECT", "ROLLBACK", "SELECT", "INSERT", "BEGIN", "UPDATE", "COMMIT")
	f.rows["UPDATE"], f.on = 0, nil
	if err := r.Claim(t.Context(), stamp(t).Token()); !errors.Is(err, fence.ErrContended) {
		t.Fatalf("a row that comes and goes: %v", err)
	}
	f.log = nil
	// In the caller's own transaction it can only be made inside.
	tx, err := f.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	f.on = func(word string) {
		if word == "INSERT" {
			f.rows["UPDATE"] = 1
		}
	}
	if err := r.Admit(t.Context(), tx, stamp(t)); err != nil {
		t.Fatal(err)
	}
	f.did(t, "BEGIN", "UPDATE", "SELECT", "SELECT", "INSERT", "UPDATE")
}

// In any order: a transaction that finds an older mark ends, and the next one raises it.
func TestAnyOrderBeginsAnew(t *testing.T) {
	f := &fakeDB{rows: map[string]int64{"UPDATE": 1}}
	r := f.resource(t, &Options{AnyOrder: true})
	if err := r.Apply(t.Context(), stamp(t), nothing); err != nil {
		t.Fatal(err)
	}
	f.did(t, "BEGIN", "SELECT", "ROLLBACK", "BEGIN", "SELECT", "UPDATE", "COMMIT")
}

func TestRebaseAsksNothingForNothing(t *testing.T) {
	f := &fakeDB{}
	r := f.resource(t, nil)
	if err := r.Rebase(t.Context(), fence.Stamp{}, fence.Stamp{}); !errors.Is(err, fence.ErrBadToken) {
		t.Errorf("got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Rebase(ended, fence.Stamp{}, stamp(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	f.did(t)
}
