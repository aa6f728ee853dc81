package fence_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

// answer writes value and records it as the operation's result.
func answer(value string) change {
	return func(ctx context.Context, tx *fence.MemoryTx) error {
		tx.Put("paid", value)
		fence.OperationFrom(ctx).SetResult([]byte(value))
		return nil
	}
}

func pay(id string) context.Context { return fence.WithOperation(context.Background(), id) }

// mustBeDuplicate checks the whole answer given to a repeat.
func mustBeDuplicate(t *testing.T, err error, id string, by fence.Stamp, result string) {
	t.Helper()
	var done *fence.DuplicateError
	if !errors.As(err, &done) || !errors.Is(err, fence.ErrDuplicate) {
		t.Fatalf("got %v, want a *DuplicateError", err)
	}
	if done.Operation != id || done.Stamp != by || string(done.Result) != result {
		t.Fatalf("got %+v", done)
	}
}

func TestOperationRepeatedByALaterHolder(t *testing.T) {
	m, one, two := memory(t, "orders"), token(t, 1), token(t, 2)
	mustBe(t, "first", m.Apply(pay("42"), one.At(1), answer("10 EUR")), nil)

	mustBeDuplicate(t, m.Apply(pay("42"), two.At(1), answer("20 EUR")), "42", one.At(1), "10 EUR")
	mustHold(t, m, "orders", "paid", "10 EUR", one.At(1)) // the duplicate consumed nothing

	mustBe(t, "another id", m.Apply(pay("43"), two.At(1), answer("20 EUR")), nil)
	mustHold(t, m, "orders", "paid", "20 EUR", two.At(1))
	mustBeDuplicate(t, m.Apply(pay("42"), two.At(2), answer("30 EUR")), "42", one.At(1), "10 EUR")
}

// A known id never lets an old token pass, nor tells it what was stored.
func TestOperationIsLookedAtAfterTheFence(t *testing.T) {
	m, one, two := memory(t, "orders"), token(t, 1), token(t, 2)
	mustBe(t, "first", m.Apply(pay("42"), one.At(1), answer("10 EUR")), nil)
	mustBe(t, "the same stamp", m.Apply(pay("42"), one.At(1), answer("10 EUR")), fence.ErrReplayed)
	mustBe(t, "claim", m.Claim(context.Background(), two), nil)
	for _, id := range []string{"42", "43"} { // known and fresh
		mustBe(t, "old stamp, id "+id, m.Apply(pay(id), one.At(2), answer("20 EUR")), fence.ErrStale)
	}
	mustBe(t, "no stamp", m.Apply(pay("42"), fence.Stamp{}, answer("20 EUR")), fence.ErrNoToken)
	mustBe(t, "other owner", m.Apply(pay("42"), mint(t, "orders", 0, 2, "thief").At(1), answer("20 EUR")), fence.ErrConflict)
	mustHold(t, m, "orders", "paid", "10 EUR", two.At(0))
	mustBe(t, "the refused id is still free", m.Apply(pay("43"), two.At(1), answer("20 EUR")), nil)
}

func TestOperationOfAFailedChange(t *testing.T) {
	m, s := memory(t, "orders"), token(t, 1).At(1)
	broken := errors.New("broken")
	ctx := pay("42")
	mustBe(t, "failing", m.Apply(ctx, s, func(ctx context.Context, tx *fence.MemoryTx) error {
		_ = answer("10 EUR")(ctx, tx)
		return broken
	}), broken)
	mustHold(t, m, "orders", "paid", "", fence.Stamp{})

	// The second run answers nothing; the answer of the failed one must be gone.
	mustBe(t, "again, same stamp", m.Apply(ctx, s, put("paid", "20 EUR")), nil)
	mustBeDuplicate(t, m.Apply(ctx, token(t, 1).At(2), put("paid", "30 EUR")), "42", s, "")
}

func TestOperationResultIsCopied(t *testing.T) {
	m, tok := memory(t, "orders"), token(t, 1)
	mine := []byte("10 EUR")
	ctx := pay("42")
	mustBe(t, "first", m.Apply(ctx, tok.At(1), func(ctx context.Context, _ *fence.MemoryTx) error {
		fence.OperationFrom(ctx).SetResult(mine)
		return nil
	}), nil)
	clear(mine)
	got := fence.OperationFrom(ctx).Result()
	if string(got) != "10 EUR" {
		t.Fatalf("Result is %q", got)
	}
	clear(got)
	for n := range 2 { // the answer to one repeat must not spoil the next one's
		err := m.Apply(ctx, tok.At(2), answer("20 EUR"))
		mustBeDuplicate(t, err, "42", tok.At(1), "10 EUR")
		var done *fence.DuplicateError
		if errors.As(err, &done) && n == 0 {
			clear(done.Result)
		}
	}
}

func TestOperationBadID(t *testing.T) {
	m, ran := memory(t, "orders"), false
	change := func(context.Context, *fence.MemoryTx) error { ran = true; return nil }
	mustBe(t, "longest", fence.OperationFrom(pay(strings.Repeat("x", fence.MaxOperation))).Check(), nil)
	for why, id := range map[string]string{
		"the operation id is empty":                   "",
		"the operation id has 201 bytes":              strings.Repeat("x", fence.MaxOperation+1),
		"the operation id is not valid UTF-8":         "a\xff",
		"the operation id has the control character ": "a\nb",
	} {
		// Before anything: not even a missing token or an ended context is looked at.
		ctx, cancel := context.WithCancel(pay(id))
		cancel()
		err := m.Apply(ctx, fence.Stamp{}, change)
		mustBe(t, id, err, fence.ErrBadOperation)
		if errors.Is(err, fence.ErrBadToken) || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if ran {
		t.Error("the change ran")
	}
	mustHold(t, m, "orders", "", "", fence.Stamp{})
}

func TestOperationFrom(t *testing.T) {
	if op := fence.OperationFrom(context.Background()); op != nil {
		t.Errorf("got %v from an empty context", op)
	}
	op := fence.OperationFrom(fence.WithOperation(pay("42"), "43"))
	if op.ID() != "43" || op.Result() != nil {
		t.Errorf("got %q, %q", op.ID(), op.Result())
	}
	op.SetResult([]byte("x"))
	op.SetResult(nil)
	if op.Result() != nil {
		t.Errorf("a cleared result is %q", op.Result())
	}
}
