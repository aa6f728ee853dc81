package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// DefaultTable is the marks table unless [Options] names another.
const DefaultTable = "fence_marks"

const operationsSuffix = "_operations"

// Options of [New]. nil and the zero value work.
type Options struct {
	// Table holds the marks, one row for each lock; the table of operation ids has the
	// same name with "_operations" behind it. A plain identifier, "schema.table" if it
	// needs a schema. Empty means [DefaultTable].
	Table string

	// Lock is the only lock whose stamps are accepted; every other one is answered with
	// [fence.ErrWrongLock]. Empty means any lock, each with a mark of its own: then
	// nothing but your code makes sure that a change runs under the right lock.
	Lock string

	// Isolation is the level of the transactions that Apply and Claim begin. Zero means
	// the best one, see the package's documentation: in PostgreSQL the database's own
	// default, in MySQL READ COMMITTED.
	Isolation sql.IsolationLevel

	// AnyOrder is for one hold with many transactions at once: of the mark's own token
	// every sequence is accepted, also one that was accepted before, as by
	// [fence.JudgeAnyOrder], and these transactions do not wait for each other. The mark
	// stays at the claim; it is raised, after all of them have ended, by a newer token
	// only. See "In any order" in the package's documentation.
	AnyOrder bool
}

// Resource is a database whose changes are fenced by a table of marks. It is safe
// for concurrent use, starts no goroutine and needs no closing.
type Resource struct {
	db        *sql.DB
	dialect   *dialect
	stmt      map[string]statement
	lock      string
	isolation sql.IsolationLevel
	anyOrder  bool
}

var (
	_ fence.FencedResource[*sql.Tx] = (*Resource)(nil)
	_ fence.Rebaser                 = (*Resource)(nil)
)

// New returns a resource in db, which stays the caller's to close. It touches nothing:
// see [Resource.EnsureSchema]. It returns an error for a nil db, an unknown dialect,
// an isolation level that the dialect lacks, a table name that is not a plain
// identifier, and [fence.ErrBadToken] for a lock name that cannot be one.
func New(db *sql.DB, dialect Dialect, opts *Options) (*Resource, error) {
	if opts == nil {
		opts = &Options{}
	}
	if db == nil {
		return nil, errors.New("sqlfence: db is nil")
	}
	d, err := dialect.known()
	if err != nil {
		return nil, err
	}
	levels := d.levels
	if opts.AnyOrder {
		levels = d.shared
	}
	isolation, err := level(opts.Isolation, levels)
	if err != nil {
		return nil, err
	}
	if opts.Lock != "" {
		if err := fence.CheckLock(opts.Lock); err != nil {
			return nil, fmt.Errorf("sqlfence: Options.Lock: %w", err)
		}
	}
	table := opts.Table
	if table == "" {
		table = DefaultTable
	}
	if err := checkIdentifier("table", table, 2, maxIdentifier-len(operationsSuffix)); err != nil {
		return nil, err
	}
	return &Resource{db: db, dialect: d, lock: opts.Lock, isolation: isolation, anyOrder: opts.AnyOrder,
		stmt: d.statements(DefaultTable, table)}, nil
}

// Apply implements [fence.FencedResource] with one transaction: it admits the stamp,
// runs change, and commits. change works on tx alone and must not end it.
//
// An error of change comes back as it is, after a rollback; if it tells of contention
// it is wrapped in [fence.ErrContended] as well. A panic in change rolls back and goes
// on. If the answer to COMMIT is lost, or is not a plain refusal, the result is
// [fence.ErrUnknownOutcome].
func (r *Resource) Apply(ctx context.Context, s fence.Stamp, change func(ctx context.Context, tx *sql.Tx) error) error {
	op := fence.OperationFrom(ctx)
	if op != nil {
		if err := op.Check(); err != nil {
			return err
		}
	}
	first := r.raise
	if r.anyOrder {
		first = r.share
	}
	return r.transact(ctx, s, first, func(tx *sql.Tx) error {
		if op == nil {
			return r.dialect.changed(change(ctx, tx))
		}
		if err := r.findOperation(ctx, tx, s, op); err != nil {
			return err
		}
		op.SetResult(nil) // an earlier attempt that failed must not leave its answer behind
		if err := r.dialect.changed(change(ctx, tx)); err != nil {
			return err
		}
		return r.recordOperation(ctx, tx, s, op)
	})
}

// Claim implements [fence.FencedResource]: a transaction that does nothing but raise
// the mark to (t, 0).
func (r *Resource) Claim(ctx context.Context, t fence.Token) error {
	s := t.At(0)
	if r.anyOrder && r.presentable(s) == nil {
		// A repeated claim must not wait for the hold's own transactions. The mark was
		// raised once they of all older ones had ended, so to see it is enough.
		if mark, err := r.read(ctx, r.db, "mark", t.Lock()); err == nil && mark.Token() == t {
			return nil
		}
	}
	err := r.transact(ctx, s, r.takeOver, func(*sql.Tx) error { return nil })
	if errors.Is(err, fence.ErrReplayed) {
		return nil // claimed before, or written already: the mark is where it must be
	}
	return err
}

// Mark implements [fence.FencedResource] with a plain read. It returns
// [fence.ErrBadToken] for a name that cannot be a lock, [fence.ErrWrongLock] for
// another lock than the one in Options, and [ErrSchema].
func (r *Resource) Mark(ctx context.Context, lock string) (fence.Stamp, error) {
	if err := fence.CheckLock(lock); err != nil {
		return fence.Stamp{}, err
	}
	if r.lock != "" && lock != r.lock {
		return fence.Stamp{}, &fence.RefusedError{Lock: r.lock, Reason: fence.ErrWrongLock}
	}
	return r.read(ctx, r.db, "mark", lock)
}

// Commit commits a transaction in which [Resource.Admit] was called and names the
// result as Apply does: [fence.ErrContended], [fence.ErrUnknownOutcome], or the
// database's plain refusal, after which nothing was applied. If ctx is done already it
// rolls back instead and returns the context's error.
func (r *Resource) Commit(ctx context.Context, tx *sql.Tx) error {
	// Asked here because after COMMIT was sent the same error would mean "unknown".
	if err := ctx.Err(); err != nil {
		_ = tx.Rollback() // or the connection is lost, and the server does it
		return fmt.Errorf("sqlfence: rolled back: %w", err)
	}
	return r.dialect.sent("commit", tx.Commit())
}
