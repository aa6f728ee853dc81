package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

const lock = "orders/42"

func token(t testing.TB, revision int64) fence.Token {
	t.Helper()
	return tokenOf(t, lock, 0, revision, "owner")
}

func tokenOf(t testing.TB, lock string, epoch, revision int64, owner string) fence.Token {
	t.Helper()
	tok, err := fence.NewToken(lock, epoch, revision, owner)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// set is the change of most tests: account a gets a value, and the journal a line.
func (s *site) set(stamp fence.Stamp, value int64) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, s.sql("UPDATE accounts SET value = $1 WHERE id = 'a'"), value); err != nil {
			return err
		}
		t := stamp.Token()
		_, err := tx.ExecContext(ctx, s.sql("INSERT INTO journal (guard, revision, sequence) VALUES ($1, $2, $3)"),
			t.Lock(), t.Revision(), stamp.Sequence())
		return err
	}
}

// write presents a stamp whose value is its revision.
func (s *site) write(ctx context.Context, r *sqlfence.Resource, stamp fence.Stamp) error {
	return r.Apply(ctx, stamp, s.set(stamp, stamp.Token().Revision()))
}

func (s *site) mustWrite(t *testing.T, stamp fence.Stamp) {
	t.Helper()
	if err := s.write(t.Context(), s.marks, stamp); err != nil {
		t.Fatalf("%v: %v", stamp, err)
	}
}

// insist sends the same stamp again as long as that is safe. It returns how often the
// store was contended.
func insist(ctx context.Context, send func() error) (contended int, err error) {
	for {
		err := send()
		if !errors.Is(err, fence.ErrContended) || ctx.Err() != nil {
			return contended, err
		}
		contended++
	}
}

// wantRefused checks the reason and both stamps.
func wantRefused(t *testing.T, err, reason error, presented, mark fence.Stamp) {
	t.Helper()
	var refused *fence.RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want a refusal: %v", err, reason)
	}
	if !errors.Is(err, reason) || refused.Presented != presented || refused.Mark != mark {
		t.Fatalf("got %v (presented %v, mark %v), want %v (presented %v, mark %v)",
			err, refused.Presented, refused.Mark, reason, presented, mark)
	}
}

func (s *site) wantMark(t *testing.T, want fence.Stamp) {
	t.Helper()
	name := lock
	if !want.IsZero() {
		name = want.Token().Lock()
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, err := s.marks.Mark(ctx, name)
	if err != nil || got != want {
		t.Fatalf("the mark is %v (%v), want %v", got, err, want)
	}
}

// wantState checks data and mark together: they change together or not at all.
func (s *site) wantState(t *testing.T, mark fence.Stamp, value int64) {
	t.Helper()
	s.wantMark(t, mark)
	if got := s.value(t, "a"); got != value {
		t.Fatalf("the value is %d, want %d", got, value)
	}
}

// eventually asks again until the answer is yes. Each question is a round trip to the
// store, which is what makes the other goroutines run.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !yes(); {
		if time.Now().After(deadline) {
			t.Fatalf("it never came true that %s", what)
		}
	}
}

// execAll runs statements that are separated by semicolons.
func execAll(ctx context.Context, db *sql.DB, statements string) error {
	for statement := range strings.SplitSeq(statements, ";") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
