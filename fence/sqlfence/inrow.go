package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// InRow keeps the mark in the very row that it guards: five more columns in your own
// table and one conditional statement, without a transaction and without a second
// row to wait for. It is the cheapest fence and protects exactly one row.
//
// [InRow.Update] writes the statement for you. To write your own, put the two
// fragments side by side and the key behind them:
//
//	result, err := db.ExecContext(ctx,
//		"UPDATE accounts SET balance = $1, "+row.Set(2)+" WHERE "+row.Where(2)+" AND id = $7",
//		slices.Concat([]any{balance}, row.Args(stamp), []any{id})...)
//	err = row.Check(ctx, db, stamp, id, result, err)
//
// MySQL's parameters have no numbers. There the two fragments must stand side by side,
// without another parameter between them, since Args are the values of both in a row.
//
// A deleted row takes its mark with it: mark rows as deleted instead.
type InRow struct {
	dialect    *dialect
	stmt       statements // numbered from 1
	set, where statement  // as they are sent, in a dialect without numbers
	table, key string
}

// Queryer is what the in-row form runs on: a *sql.DB, a *sql.Tx or a *sql.Conn.
type Queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// NewInRow describes your table (schema-qualified if need be) and its column that
// identifies one row. It returns an error for an unknown dialect and for names that are
// not plain identifiers. It touches nothing: add the columns with [InRow.Schema].
func NewInRow(dialect Dialect, table, key string) (*InRow, error) {
	d, err := dialect.known()
	if err != nil {
		return nil, err
	}
	if err := checkIdentifier("table", table, 2, maxIdentifier); err != nil {
		return nil, err
	}
	if err := checkIdentifier("key column", key, 1, maxIdentifier); err != nil {
		return nil, err
	}
	stmt := parse(d.text, "fence_rows", table, "row_key", key)
	return &InRow{dialect: d, table: table, key: key, stmt: stmt,
		set: d.statement(stmt["row set"]), where: d.statement(stmt["row where"])}, nil
}

// Schema returns the statement that adds the columns fence_lock, fence_owner,
// fence_epoch, fence_revision and fence_sequence, to be run once by hand or by a
// migration. A row in which they are NULL, or zero and empty, accepts any stamp.
func (r *InRow) Schema() string { return r.stmt["row columns"] + ";\n" }

// Set returns the assignments for the SET clause, with parameters n to n+4. In MySQL n
// means nothing.
func (r *InRow) Set(n int) string { return r.fragment(n, "row set", r.set) }

// Where returns the condition, in parentheses, with the same parameters as Set.
func (r *InRow) Where(n int) string { return r.fragment(n, "row where", r.where) }

func (r *InRow) fragment(n int, name string, sent statement) string {
	if r.dialect.positional {
		return sent.text
	}
	return renumber(n, r.stmt[name])
}

// Args returns the values of the parameters of Set and Where. Those of a zero stamp
// match no row.
func (r *InRow) Args(s fence.Stamp) []any {
	values := make([]any, 5)
	if !s.IsZero() {
		values = stampArgs(s)
	}
	if !r.dialect.positional {
		return values
	}
	return append(r.set.args(values...), r.where.args(values...)...)
}

// Update changes the one row with the key, if and only if s is newer than the row's
// mark, and raises the mark, in one statement. set is what follows SET in your
// statement, with parameters numbered from 1, and args are their values:
//
//	err := row.Update(ctx, db, stamp, id, "balance = balance + $1", 10)
//
// Errors: those of [InRow.Check].
func (r *InRow) Update(ctx context.Context, on Queryer, s fence.Stamp, key any, set string, args ...any) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqlfence: nothing was sent: %w", err)
	}
	n := len(args) + 1
	if set != "" {
		set += ", "
	}
	statement := "UPDATE " + r.table + " SET " + set + r.Set(n) + " WHERE " + r.Where(n) +
		" AND " + r.dialect.statement(renumber(n+5, r.stmt["row key"])).text
	all := append(append(append([]any{}, args...), r.Args(s)...), key)
	result, err := on.ExecContext(ctx, statement, all...)
	return r.Check(ctx, on, s, key, result, err)
}

// Claim raises the row's mark to (t, 0) and changes nothing else; claiming again is
// fine. Errors: those of [InRow.Check], but never [fence.ErrReplayed].
func (r *InRow) Claim(ctx context.Context, on Queryer, t fence.Token, key any) error {
	err := r.Update(ctx, on, t.At(0), key, "")
	if errors.Is(err, fence.ErrReplayed) {
		return nil
	}
	return err
}

// Mark returns the newest stamp that the row accepted, the zero Stamp if none, and
// [ErrNoRow] if there is no such row. For diagnosis, not for deciding.
func (r *InRow) Mark(ctx context.Context, on Queryer, key any) (fence.Stamp, error) {
	mark, err := scanStamp(on.QueryRowContext(ctx, r.dialect.statement(r.stmt["row mark"]).text, key))
	if errors.Is(err, sql.ErrNoRows) {
		return fence.Stamp{}, fmt.Errorf("%w: %s.%s = %v", ErrNoRow, r.table, r.key, key)
	}
	return mark, r.dialect.ours(ctx, "read the row's mark", err)
}

// Check says what became of a conditional statement: pass it what ExecContext
// returned. On nil the change was made (and is committed, unless on is a transaction).
//
// Errors: [*fence.RefusedError] with the reason stale, replayed, conflict, wrong lock or
// no token; [ErrNoRow]; [ErrSchema] without the columns; [fence.ErrContended] if the
// database gave up, or if the row would accept s by now or your statement has a further
// condition that failed; [fence.ErrUnknownOutcome] if the reply was lost outside a
// transaction. If the key matches more than one row Check says so, but outside a
// transaction it is too late.
func (r *InRow) Check(ctx context.Context, on Queryer, s fence.Stamp, key any, result sql.Result, err error) error {
	if err != nil {
		return r.failed(ctx, on, err)
	}
	n, err := result.RowsAffected()
	switch {
	case err != nil:
		return uncounted(err)
	case n == 1:
		return nil
	case n > 1:
		return r.notUnique(n, key)
	case s.IsZero():
		return &fence.RefusedError{Reason: fence.ErrNoToken}
	}
	mark, err := r.Mark(ctx, on, key)
	if err != nil {
		return err
	}
	lock := s.Token().Lock()
	if !mark.IsZero() {
		lock = mark.Token().Lock() // the row's guard is whoever wrote it last
	}
	if err := fence.Judge(lock, mark, s); err != nil {
		return err
	}
	return fmt.Errorf("sqlfence: %w: the mark %v would accept %v; it changed meanwhile, or another condition of the statement failed",
		fence.ErrContended, mark, s)
}

// failed tells an error inside a transaction, which undoes everything, from one of a
// statement that took effect by itself or not.
func (r *InRow) failed(ctx context.Context, on Queryer, err error) error {
	const what = "update the row"
	if r.dialect.wrongTable(err) && mentions(err, "fence_") { // not a column of the caller's own
		return r.dialect.ours(ctx, what, err)
	}
	if _, inside := on.(*sql.Tx); inside {
		return r.dialect.failed(ctx, what, err)
	}
	return r.dialect.sent(what, err)
}

func (r *InRow) notUnique(n int64, key any) error {
	return fmt.Errorf("sqlfence: %d rows have %s = %v; the in-row form needs a unique key", n, r.key, key)
}

func uncounted(err error) error {
	return fmt.Errorf("sqlfence: the driver does not count rows, without which nothing can be fenced: %w", err)
}
