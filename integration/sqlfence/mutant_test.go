package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// What the conditional statement is for: with the mark read first and written later, in
// one transaction even, the kit finds writes that land behind a newer claim.
func TestKitFailsReadThenWrite(t *testing.T) {
	for name, make := range map[string]func(*testing.T) *house{
		"postgres": postgresHouse,
		"mariadb":  func(t *testing.T) *house { return mariaHouse(t, "?interpolateParams=true") },
		"sqlite": func(t *testing.T) *house {
			return &house{dialect: sqlfence.SQLite, driver: "sqlite", dsn: sqliteDSN(t)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := make(t)
			err := fencetest.Check(t.Context(), func(ctx context.Context) (fencetest.Subject[*sql.Tx], error) {
				s, err := h.newMarks(ctx, nil)
				if err == nil {
					s.wrap = func(r fence.FencedResource[*sql.Tx], s *marksSubject) fence.FencedResource[*sql.Tx] {
						return &readThenWrite{r, s}
					}
				}
				return s, err
			})
			atomic := 0 // what is broken besides, it is not made for: operation ids
			for _, e := range flatten(err) {
				var v *fencetest.Violation
				if errors.As(e, &v) && (v.Rule == "R1" || v.Rule == "R7") {
					t.Logf("found by %s/%s: %s", v.Rule, v.Case, v.Detail)
					atomic++
				}
			}
			if atomic == 0 {
				t.Fatalf("the kit did not notice: %v", err)
			}
		})
	}
}

func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// readThenWrite is the mistake: the mark is read, judged here, and written at the end.
type readThenWrite struct {
	fence.FencedResource[*sql.Tx]
	s *marksSubject
}

func (r *readThenWrite) Apply(ctx context.Context, s fence.Stamp, change func(context.Context, *sql.Tx) error) error {
	mark, err := r.Mark(ctx, r.s.Lock()) // SQLite has one writer: only outside its transaction it can be wrong
	if err != nil {
		return err
	}
	if err := fence.Judge(r.s.Lock(), mark, s); err != nil {
		return err
	}
	for range r.slow() {
		if _, err := r.Mark(ctx, r.s.Lock()); err != nil {
			return err
		}
	}
	tx, err := r.s.db().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if r.s.dialect != sqlfence.SQLite {
		if mark, err = r.inside(ctx, tx); err != nil {
			return err
		}
		if err := fence.Judge(r.s.Lock(), mark, s); err != nil {
			return err
		}
	}
	if err := change(ctx, tx); err != nil {
		return err
	}
	// What it writes, every store would take.
	if _, err := tx.ExecContext(ctx, "DELETE FROM "+r.s.opts.Table); err != nil {
		return err
	}
	o := s.Token()
	insert := (&site{store: store{dialect: r.s.dialect}}).sql("INSERT INTO " + r.s.opts.Table +
		" (lock_name, owner, epoch, revision, sequence) VALUES ($1, $2, $3, $4, $5)")
	if _, err := tx.ExecContext(ctx, insert, o.Lock(), o.Owner(), o.Epoch(), o.Revision(), s.Sequence()); err != nil {
		return err
	}
	return tx.Commit()
}

func (r *readThenWrite) Claim(ctx context.Context, t fence.Token) error {
	err := r.Apply(ctx, t.At(0), nothing)
	if errors.Is(err, fence.ErrReplayed) {
		return nil
	}
	return err
}

// slow is how many round trips lie between reading and writing. In SQLite nothing else
// can get between them, and the gap would be too short to be met each time.
func (r *readThenWrite) slow() int {
	if r.s.dialect == sqlfence.SQLite {
		return 50
	}
	return 0
}

// inside reads the mark in the transaction, which does not help.
func (r *readThenWrite) inside(ctx context.Context, tx *sql.Tx) (fence.Stamp, error) {
	var owner string
	var epoch, revision, sequence int64
	err := tx.QueryRowContext(ctx, "SELECT owner, epoch, revision, sequence FROM "+r.s.opts.Table).
		Scan(&owner, &epoch, &revision, &sequence)
	if errors.Is(err, sql.ErrNoRows) || err == nil && revision == 0 {
		return fence.Stamp{}, nil
	}
	if err != nil {
		return fence.Stamp{}, err
	}
	t, err := fence.NewToken(r.s.Lock(), epoch, revision, owner)
	return t.At(sequence), err
}
