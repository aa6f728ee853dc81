package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

// sqliteSite is a database without patience: whoever finds it busy is told at once.
func sqliteSites(t *testing.T, mode, begin string, test func(*testing.T, *site)) {
	for _, driver := range []string{"sqlite", "sqlite3"} {
		t.Run(driver, func(t *testing.T) {
			st := stores[1]
			st.driver = driver
			st.dsn = func(t *testing.T) string {
				return "file:" + filepath.Join(t.TempDir(), "test.db") +
					"?_txlock=" + begin + "&_pragma=busy_timeout(0)&_pragma=journal_mode(" + mode + ")"
			}
			test(t, newSite(t, st))
		})
	}
}

// Another writer holds the file: contended at BEGIN IMMEDIATE, or, where the
// transaction begins deferred, at the fence's own statement.
func TestSQLiteBusyWriter(t *testing.T) {
	for _, begin := range []string{"immediate", "deferred"} {
		t.Run(begin, func(t *testing.T) {
			sqliteSites(t, "wal", begin, func(t *testing.T, s *site) {
				other := s.resource(t, s.open(t), nil)
				err := s.marks.Apply(t.Context(), token(t, 1).At(1), func(context.Context, *sql.Tx) error {
					for what, err := range map[string]error{
						"apply": other.Apply(t.Context(), token(t, 2).At(1), nothing),
						"claim": other.Claim(t.Context(), token(t, 2)),
					} {
						if !errors.Is(err, fence.ErrContended) {
							t.Errorf("%s: %v, want %v", what, err, fence.ErrContended)
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				s.wantMark(t, token(t, 1).At(1))
				if err := other.Claim(t.Context(), token(t, 2)); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// In rollback-journal mode a reader blocks the COMMIT: nothing is applied, the
// connection is usable again, and the same stamp passes once the reader is gone.
func TestSQLiteBusyCommit(t *testing.T) {
	sqliteSites(t, "delete", "immediate", func(t *testing.T, s *site) {
		s.db.SetMaxOpenConns(1)
		reader := s.open(t)
		rows, err := reader.QueryContext(t.Context(), "SELECT id FROM accounts")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		if !rows.Next() {
			t.Fatal(rows.Err())
		}
		stamp := token(t, 1).At(1)
		if err := s.write(t.Context(), s.marks, stamp); !errors.Is(err, fence.ErrContended) {
			t.Fatalf("got %v, want %v", err, fence.ErrContended)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		s.wantState(t, fence.Stamp{}, 0)
		s.mustWrite(t, stamp)
	})
}

// A transaction that has read before Admit and was overtaken since is contended: what it
// read is old, and it must start anew.
func TestSQLiteReadBeforeAdmit(t *testing.T) {
	sqliteSites(t, "wal", "deferred", func(t *testing.T, s *site) {
		other := s.resource(t, s.open(t), nil)
		// Not by BeginTx with a level, which makes one of the drivers begin IMMEDIATE.
		tx, err := s.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		var n int64
		if err := tx.QueryRowContext(t.Context(), "SELECT value FROM accounts WHERE id = 'a'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if err := s.write(t.Context(), other, token(t, 1).At(1)); err != nil {
			t.Fatal(err)
		}
		if err := s.marks.Admit(t.Context(), tx, token(t, 2).At(1)); !errors.Is(err, fence.ErrContended) {
			t.Fatalf("got %v, want %v", err, fence.ErrContended)
		}
	})
}
