package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// The shortest proof that the strict comparison in postgres.sql is what refuses. Take it
// away and this fails.
func TestPostgresRefusesOlder(t *testing.T) { refusesOlder(t, newSite(t, stores[0])) }

// The same for mysql.sql.
func TestMariaDBRefusesOlder(t *testing.T) { refusesOlder(t, newSite(t, stores[2])) }

func refusesOlder(t *testing.T, s *site) {
	s.mustWrite(t, token(t, 2).At(1))
	err := s.write(t.Context(), s.marks, token(t, 1).At(1))
	wantRefused(t, err, fence.ErrStale, token(t, 1).At(1), token(t, 2).At(1))
	s.wantState(t, token(t, 2).At(1), 2)
}

func TestRule(t *testing.T) {
	const big = 1 << 53 // from here on a double has no odd numbers
	at := func(epoch, revision, sequence int64, owner string) fence.Stamp {
		return tokenOf(t, lock, epoch, revision, owner).At(sequence)
	}
	cases := []struct {
		name      string
		mark, now fence.Stamp
		want      error
	}{
		{"first ever", fence.Stamp{}, at(0, 1, 1, "o"), nil},
		{"newer revision", at(0, 5, 3, "o"), at(0, 6, 0, "p"), nil},
		{"older revision", at(0, 5, 3, "o"), at(0, 4, 9, "o"), fence.ErrStale},
		{"next sequence", at(0, 5, 3, "o"), at(0, 5, 4, "o"), nil},
		{"sequence with a gap", at(0, 5, 3, "o"), at(0, 5, 9, "o"), nil},
		{"same stamp", at(0, 5, 3, "o"), at(0, 5, 3, "o"), fence.ErrReplayed},
		{"earlier sequence", at(0, 5, 3, "o"), at(0, 5, 2, "o"), fence.ErrReplayed},
		{"other owner, same stamp", at(0, 5, 3, "o"), at(0, 5, 3, "p"), fence.ErrConflict},
		{"other owner, higher sequence", at(0, 5, 3, "o"), at(0, 5, 4, "p"), fence.ErrConflict},
		{"owner differs by case", at(0, 5, 3, "o"), at(0, 5, 4, "O"), fence.ErrConflict},
		{"higher epoch, lower revision", at(0, 5, 3, "o"), at(1, 1, 0, "p"), nil},
		{"lower epoch, higher revision", at(1, 5, 3, "o"), at(0, 9, 9, "o"), fence.ErrStale},
		{"beyond 2^53, newer by one", at(0, big, 0, "o"), at(0, big+1, 0, "p"), nil},
		{"beyond 2^53, older by one", at(0, big+1, 0, "o"), at(0, big, 9, "p"), fence.ErrStale},
		{"beyond 2^53, sequence", at(0, 1, big, "o"), at(0, 1, big+1, "o"), nil},
		{"beyond 2^53, epoch", at(big+1, 1, 0, "o"), at(big, 9, 0, "o"), fence.ErrStale},
		{"the largest numbers", at(math.MaxInt64, math.MaxInt64, math.MaxInt64-1, "o"),
			at(math.MaxInt64, math.MaxInt64, math.MaxInt64, "o"), nil},
		{"text that looks like SQL", at(0, 5, 3, `o'"; --`), at(0, 5, 4, `o'"; --`), nil},
	}
	onAllStores(t, func(t *testing.T, s *site) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				s.exec(t, "DELETE FROM fence_marks")
				s.exec(t, "UPDATE accounts SET value = -1")
				if !c.mark.IsZero() {
					if err := s.marks.Apply(t.Context(), c.mark, nothing); err != nil {
						t.Fatal(err)
					}
				}
				err := s.write(t.Context(), s.marks, c.now)
				if c.want == nil {
					if err != nil {
						t.Fatal(err)
					}
					s.wantState(t, c.now, c.now.Token().Revision())
					return
				}
				wantRefused(t, err, c.want, c.now, c.mark)
				s.wantState(t, c.mark, -1)
				// A claim of the same token is refused in the same way, unless it is its own.
				claim := s.marks.Claim(t.Context(), c.now.Token())
				if c.want == fence.ErrReplayed {
					if claim != nil {
						t.Fatalf("claiming again: %v", claim)
					}
				} else if !errors.Is(claim, c.want) {
					t.Fatalf("claim: %v, want %v", claim, c.want)
				}
				s.wantState(t, c.mark, -1)
			})
		}
	})
}

func TestLocksAreApart(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		s.mustWrite(t, token(t, 9).At(1))
		other := tokenOf(t, "orders/43", 0, 1, "owner").At(1)
		s.mustWrite(t, other)
		s.wantMark(t, token(t, 9).At(1))
		s.wantMark(t, other)
		// Names are compared byte by byte, in every locale.
		s.mustWrite(t, tokenOf(t, "ORDERS/42", 0, 1, "owner").At(1))
	})
}

func TestOnlyOneLock(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		guarded := s.resource(t, s.db, &sqlfence.Options{Lock: lock})
		wrong := tokenOf(t, "orders/43", 0, 9, "owner")
		wantRefused(t, s.write(t.Context(), guarded, wrong.At(1)), fence.ErrWrongLock, wrong.At(1), fence.Stamp{})
		if err := guarded.Claim(t.Context(), wrong); !errors.Is(err, fence.ErrWrongLock) {
			t.Fatalf("claim: %v", err)
		}
		if _, err := guarded.Mark(t.Context(), "orders/43"); !errors.Is(err, fence.ErrWrongLock) {
			t.Fatalf("mark: %v", err)
		}
		if err := s.write(t.Context(), guarded, token(t, 1).At(1)); err != nil {
			t.Fatal(err)
		}
		if n := s.number(t, "SELECT count(*) FROM fence_marks"); n != 1 {
			t.Fatalf("%d marks, want 1", n)
		}
	})
}

func TestNothingPassesWithoutToken(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		wantRefused(t, s.write(t.Context(), s.marks, fence.Stamp{}), fence.ErrNoToken, fence.Stamp{}, fence.Stamp{})
		if err := s.marks.Claim(t.Context(), fence.Token{}); !errors.Is(err, fence.ErrNoToken) {
			t.Fatalf("claim: %v", err)
		}
		if _, err := s.marks.Mark(t.Context(), ""); !errors.Is(err, fence.ErrBadToken) {
			t.Fatalf("mark: %v", err)
		}
		s.wantState(t, fence.Stamp{}, 0)
	})
}

func nothing(context.Context, *sql.Tx) error { return nil }
