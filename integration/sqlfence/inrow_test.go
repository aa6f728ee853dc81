package sqlfence_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// rows adds the fence's columns to the accounts table.
func rows(t *testing.T, s *site) *sqlfence.InRow {
	t.Helper()
	row, err := sqlfence.NewInRow(s.dialect, "accounts", "id")
	if err != nil {
		t.Fatal(err)
	}
	s.exec(t, row.Schema())
	return row
}

func TestInRow(t *testing.T) {
	onAllStores(t, func(t *testing.T, s *site) {
		row := rows(t, s)
		update := func(stamp fence.Stamp, key string) error {
			return row.Update(t.Context(), s.db, stamp, key, s.sql("value = $1"), stamp.Token().Revision())
		}
		want := func(mark fence.Stamp, value int64) {
			t.Helper()
			got, err := row.Mark(t.Context(), s.db, "a")
			if err != nil || got != mark || s.value(t, "a") != value {
				t.Fatalf("mark %v, value %d (%v); want %v, %d", got, s.value(t, "a"), err, mark, value)
			}
		}
		const big = int64(1)<<53 + 1
		mark := token(t, big).At(3)

		want(fence.Stamp{}, 0)
		if err := update(mark, "a"); err != nil {
			t.Fatalf("a row never fenced before: %v", err)
		}
		want(mark, big)
		for _, c := range []struct {
			name  string
			stamp fence.Stamp
			want  error
		}{
			{"stale", token(t, big-1).At(9), fence.ErrStale},
			{"replayed", mark, fence.ErrReplayed},
			{"earlier sequence", token(t, big).At(2), fence.ErrReplayed},
			{"conflict", tokenOf(t, lock, 0, big, "other").At(4), fence.ErrConflict},
			{"wrong lock", tokenOf(t, "another", 0, big+9, "owner").At(4), fence.ErrWrongLock},
		} {
			wantRefused(t, update(c.stamp, "a"), c.want, c.stamp, mark)
			want(mark, big)
		}
		wantRefused(t, update(fence.Stamp{}, "a"), fence.ErrNoToken, fence.Stamp{}, fence.Stamp{})
		wantRefused(t, update(fence.Stamp{}, "b"), fence.ErrNoToken, fence.Stamp{}, fence.Stamp{})
		if err := update(mark, "nobody"); !errors.Is(err, sqlfence.ErrNoRow) || errors.Is(err, fence.ErrStale) {
			t.Fatalf("missing row: %v", err)
		}
		if err := update(mark, "b"); err != nil {
			t.Fatalf("another row has its own mark: %v", err)
		}
		if err := update(token(t, big+1).At(0), "a"); err != nil {
			t.Fatal(err)
		}
		want(token(t, big+1).At(0), big+1)
	})
}

func TestInRowClaim(t *testing.T) {
	onAllStores(t, func(t *testing.T, s *site) {
		row := rows(t, s)
		tok := token(t, 5)
		for range 2 {
			if err := row.Claim(t.Context(), s.db, tok, "a"); err != nil {
				t.Fatal(err)
			}
		}
		old := token(t, 4)
		wantRefused(t, row.Claim(t.Context(), s.db, old, "a"), fence.ErrStale, old.At(0), tok.At(0))
		if err := row.Claim(t.Context(), s.db, fence.Token{}, "b"); !errors.Is(err, fence.ErrNoToken) {
			t.Fatalf("no token: %v", err)
		}
		if err := row.Claim(t.Context(), s.db, tok, "nobody"); !errors.Is(err, sqlfence.ErrNoRow) {
			t.Fatalf("no row: %v", err)
		}
	})
}

// Columns made by hand as NOT NULL with empty or zero defaults are as good as NULL.
func TestInRowDefaults(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		row := rows(t, s)
		s.exec(t, "UPDATE accounts SET fence_lock = '', fence_owner = '', fence_epoch = 0, fence_revision = 0, fence_sequence = 0")
		stamp := token(t, 1).At(0)
		if err := row.Update(t.Context(), s.db, stamp, "a", "value = 7"); err != nil {
			t.Fatal(err)
		}
		if got := s.value(t, "a"); got != 7 {
			t.Fatalf("the value is %d, want 7", got)
		}
	})
}

// The fragments, in a statement of the caller's own.
func TestInRowFragments(t *testing.T) {
	onAllStores(t, func(t *testing.T, s *site) {
		row := rows(t, s)
		send := func(stamp fence.Stamp, atMost int64) error {
			result, err := s.db.ExecContext(t.Context(),
				s.sql("UPDATE accounts SET value = $1, "+row.Set(2)+" WHERE "+row.Where(2)+" AND id = $7 AND value <= $8"),
				slices.Concat([]any{stamp.Token().Revision()}, row.Args(stamp), []any{"a", atMost})...)
			return row.Check(t.Context(), s.db, stamp, "a", result, err)
		}
		if err := send(token(t, 5).At(1), 100); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, send(token(t, 4).At(1), 100), fence.ErrStale, token(t, 4).At(1), token(t, 5).At(1))
		if err := send(fence.Stamp{}, 100); !errors.Is(err, fence.ErrNoToken) {
			t.Fatalf("no token: %v", err)
		}
		// The fence would let it pass and the other condition did not: not stale.
		if err := send(token(t, 6).At(1), 0); !errors.Is(err, fence.ErrContended) {
			t.Fatalf("another condition: %v", err)
		}
	})
}

func TestInRowErrors(t *testing.T) {
	onAllStores(t, func(t *testing.T, s *site) {
		row, err := sqlfence.NewInRow(s.dialect, "accounts", "id")
		if err != nil {
			t.Fatal(err)
		}
		stamp := token(t, 1).At(1)
		if err := row.Update(t.Context(), s.db, stamp, "a", "value = 1"); !errors.Is(err, sqlfence.ErrSchema) {
			t.Fatalf("without the columns: %v", err)
		}
		s.exec(t, row.Schema())
		err = row.Update(t.Context(), s.db, stamp, "a", "valu = 1")
		if err == nil || errors.Is(err, sqlfence.ErrSchema) || fence.SafeToRetry(err) {
			t.Fatalf("a mistake of the caller's: %v", err)
		}
		byValue, err := sqlfence.NewInRow(s.dialect, "accounts", "value")
		if err != nil {
			t.Fatal(err)
		}
		if err := byValue.Update(t.Context(), s.db, stamp, 0, "value = 1"); err == nil {
			t.Fatal("a key of two rows was taken for one")
		}
	})
}

// T12 and T19 in the in-row form.
func TestInRowRace(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		row := rows(t, s)
		var accepted, holds atomic.Int64
		var done sync.WaitGroup
		for range 6 {
			done.Go(func() {
				for range 25 {
					tok := token(t, holds.Add(1))
					_, err := insist(t.Context(), func() error { return row.Claim(t.Context(), s.db, tok, "a") })
					var n int64
					if err == nil {
						n, err = s.counter(t.Context())
					}
					if err == nil {
						_, err = insist(t.Context(), func() error {
							return row.Update(t.Context(), s.db, tok.At(1), "a", s.sql("value = $1"), n+1)
						})
					}
					if err == nil {
						accepted.Add(1)
					} else if !errors.Is(err, fence.ErrStale) {
						t.Errorf("%v: %v", tok, err)
					}
				}
			})
		}
		done.Wait()
		if got := s.value(t, "a"); got != accepted.Load() || got == 0 {
			t.Fatalf("%d increments were accepted and the counter is %d", accepted.Load(), got)
		}
	})
}
