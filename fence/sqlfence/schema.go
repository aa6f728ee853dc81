package sqlfence

import (
	"context"
	"database/sql"
	"fmt"
)

// Schema returns the statements that create the two tables, to be run by hand or by a
// migration tool. They do nothing where the tables exist.
func (r *Resource) Schema() string {
	return r.stmt["create marks"] + ";\n\n" + r.stmt["create operations"] + ";\n"
}

// EnsureSchema creates the two tables unless they exist. It may be called again, by
// many processes at once, and by a user who may not create tables if they are there. It
// returns [ErrSchema] if a table of that name is not the fence's,
// [fence.ErrContended] if the database was busy, and otherwise the database's error.
func (r *Resource) EnsureSchema(ctx context.Context) error {
	if r.probe(ctx) == nil {
		return nil
	}
	created := r.create(ctx)
	// PostgreSQL lets two CREATE TABLE IF NOT EXISTS collide and fails one of them. That
	// one waited for the winner's commit first, so the tables are there now.
	if found := r.probe(ctx); found != nil {
		if created != nil {
			return created
		}
		return fmt.Errorf("%w; CREATE TABLE left it alone, so it belongs to something else: choose another Options.Table", found)
	}
	return nil
}

func (r *Resource) probe(ctx context.Context) error {
	rows, err := r.db.QueryContext(ctx, r.stmt["probe"])
	if err == nil {
		defer rows.Close()
		rows.Next() // there is no row, but some drivers tell their error only now
		err = rows.Err()
	}
	return r.dialect.ours(ctx, "look at the tables", err)
}

// create makes both tables in one transaction, so that nobody sees one without the other.
func (r *Resource) create(ctx context.Context) error {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{Isolation: r.dialect.levels[0]})
	if err != nil {
		return r.dialect.failed(ctx, "begin", err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, name := range []string{"create marks", "create operations"} {
		if _, err := tx.ExecContext(ctx, r.stmt[name]); err != nil {
			return r.dialect.failed(ctx, name, err)
		}
	}
	return r.dialect.failed(ctx, "create the tables", tx.Commit())
}
