package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

// T4. B has the lock but has not written yet when A's late write arrives. (The kind of
// window reported in slatedb #352.)
func TestFirstWriteWindow(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		a, b := token(t, 1), token(t, 2)
		t.Run("closed by a claim", func(t *testing.T) {
			s.mustWrite(t, a.At(1))
			if err := s.marks.Claim(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			wantRefused(t, s.write(t.Context(), s.marks, a.At(2)), fence.ErrStale, a.At(2), b.At(0))
			s.wantState(t, b.At(0), 1)
		})
		t.Run("open without one", func(t *testing.T) {
			s.exec(t, "DELETE FROM fence_marks")
			s.mustWrite(t, a.At(1))
			s.mustWrite(t, a.At(2)) // B holds the lock, and the resource cannot know
			s.mustWrite(t, b.At(1))
		})
	})
}

func TestClaimTwice(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		tok := token(t, 3)
		for range 2 {
			if err := s.marks.Claim(t.Context(), tok); err != nil {
				t.Fatal(err)
			}
		}
		s.wantState(t, tok.At(0), 0)
		s.mustWrite(t, tok.At(1))
		if err := s.marks.Claim(t.Context(), tok); err != nil {
			t.Fatalf("after a write: %v", err)
		}
		s.wantState(t, tok.At(1), 3)
	})
}

// T19. Holders overlap; each reads a counter, adds one and writes it fenced.
func TestReadModifyWrite(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		t.Run("loses without a claim", func(t *testing.T) {
			a, b := token(t, 1), token(t, 2)
			readByA, _ := s.counter(t.Context())
			readByB, _ := s.counter(t.Context())
			for _, w := range []error{
				s.marks.Apply(t.Context(), a.At(1), s.put(readByA+1)),
				s.marks.Apply(t.Context(), b.At(1), s.put(readByB+1)), // newer: rightly accepted
			} {
				if w != nil {
					t.Fatal(w)
				}
			}
			if got := s.value(t, "a"); got != 1 {
				t.Fatalf("2 increments were accepted and the counter is %d; without a claim it is 1", got)
			}
		})
		t.Run("is exact with a claim", func(t *testing.T) {
			s.exec(t, "DELETE FROM fence_marks")
			s.exec(t, "UPDATE accounts SET value = 0")
			var accepted, refused atomic.Int64
			var holds atomic.Int64
			var done sync.WaitGroup
			for range 6 {
				done.Go(func() {
					for range 25 {
						if tok := token(t, holds.Add(1)); s.increment(t, tok) {
							accepted.Add(1)
						} else {
							refused.Add(1)
						}
					}
				})
			}
			done.Wait()
			if got := s.value(t, "a"); got != accepted.Load() || got == 0 {
				t.Fatalf("%d increments were accepted and the counter is %d", accepted.Load(), got)
			}
			t.Logf("accepted %d, refused %d", accepted.Load(), refused.Load())
		})
	})
}

// increment is one hold: claim, read, write. It reports whether the write was accepted.
func (s *site) increment(t *testing.T, tok fence.Token) bool {
	_, err := insist(t.Context(), func() error { return s.marks.Claim(t.Context(), tok) })
	if err == nil {
		var n int64
		if n, err = s.counter(t.Context()); err == nil {
			_, err = insist(t.Context(), func() error { return s.marks.Apply(t.Context(), tok.At(1), s.put(n+1)) })
		}
	}
	if err != nil && !errors.Is(err, fence.ErrStale) {
		t.Errorf("%v: %v", tok, err)
	}
	return err == nil
}

// counter reads outside the transaction, as a holder does before its slow work.
func (s *site) counter(ctx context.Context) (n int64, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT value FROM accounts WHERE id = 'a'").Scan(&n)
	return n, err
}

func (s *site) put(n int64) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, s.sql("UPDATE accounts SET value = $1 WHERE id = 'a'"), n)
		return err
	}
}
