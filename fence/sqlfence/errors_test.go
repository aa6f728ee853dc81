package sqlfence

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

type stateError string

func (e stateError) Error() string    { return "ERROR: something (SQLSTATE " + string(e) + ")" }
func (e stateError) SQLState() string { return string(e) }

type codeError int

func (e codeError) Error() string { return "sqlite says" }
func (e codeError) Code() int     { return int(e) }

type unsentError struct{}

func (unsentError) Error() string     { return "conn closed" }
func (unsentError) SafeToRetry() bool { return true }

// What an answer to COMMIT means. Nothing here may be nil, and only what is proven to be
// a refusal may be plain.
func TestSent(t *testing.T) {
	plain := errors.New("plain")
	cases := []struct {
		dialect *dialect
		err     error
		want    error
	}{
		{&postgres, stateError("40001"), fence.ErrContended},
		{&postgres, stateError("40P01"), fence.ErrContended},
		{&postgres, stateError("55P03"), fence.ErrContended},
		{&postgres, stateError("23503"), plain},                   // a deferred constraint
		{&postgres, stateError("P0001"), plain},                   // a deferred trigger
		{&postgres, stateError("57014"), plain},                   // cancelled by a timeout
		{&postgres, stateError("57P01"), fence.ErrUnknownOutcome}, // shut down: before or after the commit record
		{&postgres, stateError("08006"), fence.ErrUnknownOutcome}, // a pooler lost its server
		{&postgres, stateError("40003"), fence.ErrUnknownOutcome},
		{&postgres, stateError("XX000"), fence.ErrUnknownOutcome},
		{&postgres, stateError("58030"), fence.ErrUnknownOutcome},
		{&postgres, errors.New("commit unexpectedly resulted in rollback"), plain},
		{&postgres, errors.New("pq: Could not complete operation in a failed transaction"), plain},
		{&postgres, io.ErrUnexpectedEOF, fence.ErrUnknownOutcome},
		{&postgres, driver.ErrBadConn, fence.ErrUnknownOutcome},
		{&postgres, context.DeadlineExceeded, fence.ErrUnknownOutcome},
		{&postgres, sql.ErrTxDone, fence.ErrUnknownOutcome},
		{&postgres, &net.OpError{Op: "read", Err: io.EOF}, fence.ErrUnknownOutcome},
		{&postgres, &net.OpError{Op: "dial", Err: io.EOF}, plain},
		{&postgres, unsentError{}, plain},
		{&postgres, sql.ErrConnDone, plain},
		{&postgres, errors.New("database is locked"), fence.ErrUnknownOutcome}, // SQLite's words are not its
		{&sqlite, codeError(5), fence.ErrContended},
		{&sqlite, codeError(5 | 2<<8), fence.ErrContended}, // an extended code
		{&sqlite, codeError(6), fence.ErrContended},
		{&sqlite, codeError(19), plain},
		{&sqlite, codeError(13), fence.ErrUnknownOutcome}, // full
		{&sqlite, codeError(10), fence.ErrUnknownOutcome}, // I/O
		{&sqlite, errors.New("sqlite3: database is locked"), fence.ErrContended},
		{&sqlite, errors.New("database table is locked: x"), fence.ErrContended},
		{&sqlite, errors.New("FOREIGN KEY constraint failed"), plain},
		{&sqlite, errors.New("sqlite3: SQL logic error: cannot commit - no transaction is active"), fence.ErrUnknownOutcome},
		{&sqlite, errors.New("disk I/O error"), fence.ErrUnknownOutcome},
	}
	for _, c := range cases {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			got := c.dialect.sent("commit", err)
			if !errors.Is(got, c.err) {
				t.Errorf("%v: its cause is lost in %v", err, got)
			}
			for _, kind := range []error{fence.ErrContended, fence.ErrUnknownOutcome} {
				if errors.Is(got, kind) != (c.want == kind) {
					t.Errorf("%v: got %v, want %v", err, got, c.want)
				}
			}
		}
	}
	if err := postgres.sent("commit", nil); err != nil {
		t.Error(err)
	}
}

// Before COMMIT everything but contention is plain: nothing was applied.
func TestFailed(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	lost := postgres.failed(context.Background(), "admit", io.ErrUnexpectedEOF)
	if fence.SafeToRetry(lost) || !errors.Is(lost, io.ErrUnexpectedEOF) {
		t.Errorf("a lost connection: %v", lost)
	}
	if err := postgres.failed(context.Background(), "admit", stateError("40001")); !errors.Is(err, fence.ErrContended) {
		t.Errorf("contention: %v", err)
	}
	// database/sql speaks of a finished transaction when the context ended it.
	if err := postgres.failed(ctx, "admit", sql.ErrTxDone); !errors.Is(err, context.Canceled) || !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("cancelled: %v", err)
	}
	if err := postgres.ours(context.Background(), "admit", nil); err != nil {
		t.Error(err)
	}
}

func TestWrongTable(t *testing.T) {
	for err, want := range map[error]bool{
		stateError("42P01"): true, stateError("42703"): true, stateError("42P10"): true, stateError("3F000"): true,
		stateError("42501"): false, stateError("23505"): false,
	} {
		if got := postgres.ours(context.Background(), "admit", err); errors.Is(got, ErrSchema) != want {
			t.Errorf("%v: got %v", err, got)
		}
	}
	for text, want := range map[string]bool{
		"SQL logic error: no such table: fence_marks (1)": true,
		"no such column: lock_name":                       true,
		"table fence_marks has no column named owner":     true,
		"attempt to write a readonly database":            false,
	} {
		if got := sqlite.ours(context.Background(), "admit", errors.New(text)); errors.Is(got, ErrSchema) != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
}

// The change's own error is the very same value, unless it tells of contention.
func TestChanged(t *testing.T) {
	own := errors.New("own")
	if got := postgres.changed(own); got != own {
		t.Errorf("got %v", got)
	}
	if got := postgres.changed(nil); got != nil {
		t.Errorf("got %v", got)
	}
	busy := stateError("40P01")
	if got := postgres.changed(busy); !errors.Is(got, fence.ErrContended) || !errors.Is(got, busy) {
		t.Errorf("got %v", got)
	}
}
