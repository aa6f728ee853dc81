package demo

import (
	"context"
	"database/sql"
	"fmt"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// database is SQLite or PostgreSQL: one table with two rows, one of them fenced, and
// the fence's own tables beside it.
type database struct {
	db    *sql.DB
	marks *sqlfence.Resource
	table string
}

func openDatabase(j storeJob) (*database, error) {
	driver, dialect := "sqlite", sqlfence.SQLite
	if j.Kind == kindPostgres {
		driver, dialect = "pgx", sqlfence.Postgres
	}
	db, err := sql.Open(driver, j.DSN)
	if err != nil {
		return nil, err
	}
	marks, err := sqlfence.New(db, dialect, &sqlfence.Options{Table: j.Table + "_marks", Lock: j.Lock})
	if err != nil {
		db.Close()
		return nil, err
	}
	return &database{db: db, marks: marks, table: j.Table}, nil
}

// The rows. $1 is understood by both databases.
const (
	fencedRow = 1
	plainRow  = 2
)

func (d *database) put(row int) string {
	return fmt.Sprintf("UPDATE %s SET value = $1 WHERE id = %d", d.table, row)
}

func (d *database) fenced(ctx context.Context, hold *etcdfence.Hold) (writer, error) {
	bound, err := etcdfence.Bind(ctx, hold, d.marks)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, value string) error {
		return bound.Apply(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, d.put(fencedRow), value)
			return err
		})
	}, nil
}

func (d *database) plain(ctx context.Context, value string) error {
	_, err := d.db.ExecContext(ctx, d.put(plainRow), value)
	return err
}

func (d *database) create(ctx context.Context) error {
	if err := d.marks.EnsureSchema(ctx); err != nil {
		return err
	}
	for _, statement := range []string{
		"CREATE TABLE " + d.table + " (id integer PRIMARY KEY, value text NOT NULL)",
		fmt.Sprintf("INSERT INTO %s VALUES (%d, ''), (%d, '')", d.table, fencedRow, plainRow),
	} {
		if _, err := d.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (d *database) drop(ctx context.Context) error {
	_, err := d.db.ExecContext(ctx, fmt.Sprintf(
		"DROP TABLE IF EXISTS %s; DROP TABLE IF EXISTS %[1]s_marks; DROP TABLE IF EXISTS %[1]s_marks_operations", d.table))
	return err
}

func (d *database) holds(ctx context.Context, fenced bool) (value string, err error) {
	row := plainRow
	if fenced {
		row = fencedRow
	}
	err = d.db.QueryRowContext(ctx, fmt.Sprintf("SELECT value FROM %s WHERE id = %d", d.table, row)).Scan(&value)
	return value, err
}

// Close closes the connections.
func (d *database) Close() error { return d.db.Close() }
