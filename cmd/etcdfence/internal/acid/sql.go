package acid

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// SQL is a boundary that is one conditional statement: it writes one row if it accepts, and
// none if it refuses.
type SQL struct {
	db        *sql.DB
	dialect   sqlfence.Dialect
	statement string
	order     []string // the values of its parameters, by name
	query     string   // what reads the value; empty: nothing does
}

// The parameters of a statement.
var parameters = []string{"epoch", "revision", "sequence", "owner", "lock", "value"}

var parameter = regexp.MustCompile(`(::?)([a-z]+)`)

// NewSQL takes the statement with :epoch, :revision, :sequence, :owner, :lock and :value in
// it, and a query of one text. The database becomes the boundary's to close.
func NewSQL(db *sql.DB, dialect sqlfence.Dialect, statement, query string) (*SQL, error) {
	b := &SQL{db: db, dialect: dialect, query: query}
	var unknown []string
	b.statement = parameter.ReplaceAllStringFunc(statement, func(found string) string {
		m := parameter.FindStringSubmatch(found)
		if m[1] == "::" { // a cast of PostgreSQL
			return found
		}
		if !slices.Contains(parameters, m[2]) {
			unknown = append(unknown, found)
			return found
		}
		b.order = append(b.order, m[2])
		if dialect == sqlfence.Postgres {
			return fmt.Sprintf("$%d%s", len(b.order), cast(m[2]))
		}
		return "?"
	})
	if len(unknown) > 0 {
		return nil, fmt.Errorf("%s is none of :%s", strings.Join(unknown, ", "), strings.Join(parameters, ", :"))
	}
	for _, needed := range []string{"revision", "value"} {
		if !slices.Contains(b.order, needed) {
			return nil, fmt.Errorf("the statement has no :%s", needed)
		}
	}
	return b, nil
}

// cast tells PostgreSQL the type of a parameter that stands alone.
func cast(name string) string {
	if slices.Contains(parameters[:3], name) {
		return "::bigint"
	}
	return "::text"
}

// Write counts the rows.
func (b *SQL) Write(ctx context.Context, w Write) error {
	t := w.Stamp.Token()
	values := map[string]any{"epoch": t.Epoch(), "revision": t.Revision(), "sequence": w.Stamp.Sequence(),
		"owner": t.Owner(), "lock": t.Lock(), "value": w.Value}
	args := make([]any, len(b.order))
	for i, name := range b.order {
		args[i] = values[name]
	}
	result, err := b.db.ExecContext(ctx, b.statement, args...)
	if err != nil {
		return contended(err)
	}
	switch n, err := result.RowsAffected(); {
	case err != nil:
		return err
	case n == 0:
		return ErrRefused
	case n > 1 && b.dialect != sqlfence.MySQL: // where an upsert that updates counts as two
		return fmt.Errorf("the statement has written %d rows", n)
	}
	return nil
}

// contended names the errors after which the same statement may be tried again.
func contended(err error) error {
	var state interface{ SQLState() string }
	text := strings.ToLower(err.Error())
	if errors.As(err, &state) && slices.Contains([]string{"40001", "40P01"}, state.SQLState()) ||
		strings.Contains(text, "deadlock") || strings.Contains(text, "database is locked") ||
		strings.Contains(text, "lock wait timeout") || strings.Contains(text, "record has changed") {
		return fmt.Errorf("%w: %w", fence.ErrContended, err)
	}
	return err
}

// Read runs the query.
func (b *SQL) Read(ctx context.Context) (string, error) {
	if b.query == "" {
		return "", ErrNoRead
	}
	var text sql.NullString
	err := b.db.QueryRowContext(ctx, b.query).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text.String, err
}

// Anonymous cannot be asked: a statement without its parameters is another one.
func (*SQL) Anonymous(context.Context, string) error { return ErrNoAnonymous }

// Abandon ends the statement's context.
func (b *SQL) Abandon(ctx context.Context, w Write) error {
	return abandon(ctx, func(ctx context.Context) error { return b.Write(ctx, w) })
}

// Owners reports whether the statement looks at the owner.
func (b *SQL) Owners() bool { return slices.Contains(b.order, "owner") }

// Close closes the database.
func (b *SQL) Close(context.Context) error { return b.db.Close() }

// NewTable is a boundary that is sqlfence with a table of marks that exists, or is made, and
// a table of its own for the value. Close drops that table and the lock's mark.
func NewTable(ctx context.Context, db *sql.DB, dialect sqlfence.Dialect, table, lock string) (Boundary, error) {
	table = cmp.Or(table, sqlfence.DefaultTable)
	marks, err := sqlfence.New(db, dialect, &sqlfence.Options{Table: table, Lock: lock})
	if err != nil {
		return nil, err
	}
	if err := marks.EnsureSchema(ctx); err != nil {
		return nil, err
	}
	scratch := "etcdfence_check_" + strings.ToLower(rand.Text()[:8])
	for _, statement := range []string{"CREATE TABLE " + scratch + " (id integer PRIMARY KEY, value varchar(200))",
		"INSERT INTO " + scratch + " VALUES (1, '')"} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, err
		}
	}
	first := map[sqlfence.Dialect]string{sqlfence.Postgres: "$1"}[dialect]
	if first == "" {
		first = "?"
	}
	return &resource[*sql.Tx]{
		fenced: marks,
		set: func(ctx context.Context, tx *sql.Tx, value string) error {
			_, err := tx.ExecContext(ctx, "UPDATE "+scratch+" SET value = "+first+" WHERE id = 1", value)
			return err
		},
		read: func(ctx context.Context) (value string, err error) {
			err = db.QueryRowContext(ctx, "SELECT value FROM "+scratch+" WHERE id = 1").Scan(&value)
			return value, err
		},
		close: func(ctx context.Context) error {
			_, err1 := db.ExecContext(ctx, "DROP TABLE "+scratch)
			_, err2 := db.ExecContext(ctx, "DELETE FROM "+table+" WHERE lock_name = "+first, lock)
			return errors.Join(err1, err2, db.Close())
		},
	}, nil
}
