package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Schema returns the statements that create the two tables, and with [Options.AnyOrder] in
// PostgreSQL a function, to be run by hand or by a migration tool. They do nothing where
// these exist.
func (r *Resource) Schema() string {
	parts := []string{}
	for _, name := range r.creates() {
		parts = append(parts, r.stmt[name].text+";\n")
	}
	return strings.Join(parts, "\n")
}

// creates are the statements that create something.
func (r *Resource) creates() []string {
	names := []string{"create marks", "create operations"}
	if r.anyOrder && r.stmt["create share"].text != "" {
		names = append(names, "create share")
	}
	return names
}

// EnsureSchema creates what Schema prints unless it exists. It may be called again, by
// many processes at once, and by a user who may not create tables if they are there. It
// returns [ErrSchema] if a table of that name is not the fence's,
// [fence.ErrContended] if the database was busy, and otherwise the database's error.
func (r *Resource) EnsureSchema(ctx context.Context) error {
	if r.probe(ctx, r.db) == nil {
		return nil
	}
	created := r.create(ctx)
	// PostgreSQL lets two CREATE TABLE IF NOT EXISTS collide and fails one of them. That
	// one waited for the winner's commit first, so the tables are there now.
	if found := r.probe(ctx, r.db); found != nil {
		if created != nil {
			return created
		}
		return fmt.Errorf("%w; CREATE TABLE left it alone, so it belongs to something else: choose another Options.Table", found)
	}
	return nil
}

func (r *Resource) probe(ctx context.Context, on Queryer) error {
	for _, name := range []string{"probe", "probe share"} {
		if name == "probe share" && len(r.creates()) == 2 {
			continue
		}
		// It selects no row. Some drivers tell their error only when asked for one.
		err := on.QueryRowContext(ctx, r.stmt[name].text).Scan()
		if !errors.Is(err, sql.ErrNoRows) {
			return r.dialect.ours(ctx, "look at the tables", err)
		}
	}
	return nil
}

// create makes all in one transaction, so that nobody sees one without the other; except
// in MySQL, which commits each by itself.
func (r *Resource) create(ctx context.Context) error {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{Isolation: r.dialect.levels[0]})
	if err != nil {
		return r.dialect.failed(ctx, "begin", err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, name := range r.creates() {
		if _, err := tx.ExecContext(ctx, r.stmt[name].text); err != nil {
			return r.dialect.failed(ctx, name, err)
		}
	}
	return r.dialect.failed(ctx, "create the tables", tx.Commit())
}
