package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"

	"github.com/etcdfence/etcdfence/fence"
)

// Besides the answers of package fence.
var (
	// ErrSchema is returned when a table or a column of the fence is missing or is of
	// another kind. Nothing was changed. Call [Resource.EnsureSchema] once, or run what
	// [Resource.Schema] prints; for the in-row form run [InRow.Schema]. If the table
	// belongs to something else, choose another name in [Options].
	ErrSchema = errors.New("sqlfence: the fence's table is missing or wrong")

	// ErrNoRow is returned by the in-row form when no row has the key. Nothing was
	// changed. It says nothing about the stamp: insert the row, with the fence columns,
	// or find out who deleted it.
	ErrNoRow = errors.New("sqlfence: no such row")
)

// ours names an error of one of our own statements.
func (d *dialect) ours(ctx context.Context, what string, err error) error {
	if err != nil && d.wrongTable(err) {
		return fmt.Errorf("%w (%s): %w: call EnsureSchema, or run what Schema prints", ErrSchema, what, err)
	}
	return d.failed(ctx, what, err)
}

// failed names an error that came before COMMIT was sent: nothing was applied.
func (d *dialect) failed(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case d.contended(err):
		return fmt.Errorf("sqlfence: %s: %w: %w", what, fence.ErrContended, err)
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		// Once a context is done, database/sql rolls back and drivers answer in words of
		// their own.
		return fmt.Errorf("sqlfence: %s: %w: %w", what, ctx.Err(), err)
	}
	return fmt.Errorf("sqlfence: %s: %w", what, err)
}

// changed names an error of the caller's own change. It comes back as it is, except
// that contention is given its kind, since the caller cannot know all its codes.
func (d *dialect) changed(err error) error {
	if err != nil && d.contended(err) && !errors.Is(err, fence.ErrContended) {
		return fmt.Errorf("sqlfence: in the change: %w: %w", fence.ErrContended, err)
	}
	return err
}

// sent names an error of a statement that takes effect by itself: COMMIT, or an
// update outside a transaction. Whoever cannot prove a refusal does not know.
func (d *dialect) sent(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case d.contended(err):
		return fmt.Errorf("sqlfence: %s: %w: %w", what, fence.ErrContended, err)
	case d.commitRefused(err), neverSent(err):
		return fmt.Errorf("sqlfence: %s refused, nothing was applied: %w", what, err)
	case errors.Is(err, sql.ErrTxDone):
		return fmt.Errorf("sqlfence: %s: %w: somebody else ended the transaction; a change must not: %w",
			what, fence.ErrUnknownOutcome, err)
	}
	return fmt.Errorf("sqlfence: %s: %w: %w", what, fence.ErrUnknownOutcome, err)
}

// neverSent reports whether the request demonstrably never left: there is no
// connection, or the driver says so, as pgx does with SafeToRetry. driver.ErrBadConn
// should mean the same, but some drivers return it for a connection lost in COMMIT.
func neverSent(err error) bool {
	if errors.Is(err, sql.ErrConnDone) || err.Error() == "sql: database is closed" {
		return true
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return true
	}
	var says interface{ SafeToRetry() bool }
	return errors.As(err, &says) && says.SafeToRetry()
}
