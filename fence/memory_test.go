package fence_test

import (
	"context"
	"errors"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

func TestMemoryRefusesBeforeTheChange(t *testing.T) {
	ctx, m := context.Background(), memory(t, "orders")
	mark := token(t, 5).At(5)
	mustBe(t, "first", m.Apply(ctx, mark, put("k", "v5")), nil)
	never := func(context.Context, *fence.MemoryTx) error { t.Error("the change of a refused stamp ran"); return nil }
	for _, c := range []struct {
		s    fence.Stamp
		want error
	}{
		{fence.Stamp{}, fence.ErrNoToken},
		{mint(t, "bills", 9, 9, "worker").At(9), fence.ErrWrongLock},
		{token(t, 4).At(9), fence.ErrStale},
		{token(t, 5).At(5), fence.ErrReplayed},
		{token(t, 5).At(0), fence.ErrReplayed},
		{mint(t, "orders", 0, 5, "other").At(6), fence.ErrConflict},
	} {
		err := m.Apply(ctx, c.s, never)
		mustBe(t, c.s.String(), err, c.want)
		var refused *fence.RefusedError
		if !errors.As(err, &refused) || refused.Mark != mark || refused.Presented != c.s || refused.Lock != "orders" {
			t.Errorf("%v: facts are %+v", c.s, refused)
		}
		mustHold(t, m, "orders", "k", "v5", mark)
	}
}

func TestMemoryChangeFails(t *testing.T) {
	ctx, m, tok := context.Background(), memory(t, "orders"), token(t, 1)
	broken := errors.New("broken")
	mustBe(t, "first", m.Apply(ctx, tok.At(1), put("k", "old")), nil)
	err := m.Apply(ctx, tok.At(2), func(_ context.Context, tx *fence.MemoryTx) error {
		tx.Put("k", "new")
		tx.Put("other", "new")
		return broken
	})
	if err != broken {
		t.Errorf("got %v, want the change's own error", err)
	}
	mustHold(t, m, "orders", "k", "old", tok.At(1))
	mustHold(t, m, "orders", "other", "", tok.At(1))
	mustBe(t, "the stamp was not consumed", m.Apply(ctx, tok.At(2), put("k", "new")), nil)
}

func TestMemoryChangePanics(t *testing.T) {
	ctx, m, tok := pay("42"), memory(t, "orders"), token(t, 1)
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic did not come through")
			}
		}()
		_ = m.Apply(ctx, tok.At(1), func(_ context.Context, tx *fence.MemoryTx) error {
			tx.Put("k", "new")
			panic("boom")
		})
	}()
	mustHold(t, m, "orders", "k", "", fence.Stamp{})
	mustBe(t, "usable, stamp and operation id unused", m.Apply(ctx, tok.At(1), put("k", "new")), nil)
	mustHold(t, m, "orders", "k", "new", tok.At(1))
}

func TestMemoryTx(t *testing.T) {
	ctx, m, tok := context.Background(), memory(t, "orders"), token(t, 1)
	mustBe(t, "first", m.Apply(ctx, tok.At(1), put("a", "1")), nil)
	var kept *fence.MemoryTx
	mustBe(t, "second", m.Apply(ctx, tok.At(2), func(_ context.Context, tx *fence.MemoryTx) error {
		kept = tx
		see := func(key, want string, there bool) {
			if got, ok := tx.Get(key); got != want || ok != there {
				t.Errorf("%s: got %q, %v", key, got, ok)
			}
		}
		see("a", "1", true)
		see("b", "", false)
		tx.Put("b", "1")
		tx.Put("a", "2")
		tx.Put("a", "3")
		tx.Put("c", "")
		see("a", "3", true) // its own last write
		see("b", "1", true)
		see("c", "", true) // empty is there
		return nil
	}), nil)
	kept.Put("a", "after the change") // a handle that was kept must not reach the data
	mustHold(t, m, "orders", "a", "3", tok.At(2))
	mustHold(t, m, "orders", "b", "1", tok.At(2))
	if _, ok, _ := m.Get(ctx, "c"); !ok {
		t.Error("an empty value was lost")
	}
}

func TestMemoryClaim(t *testing.T) {
	ctx, m := context.Background(), memory(t, "orders")
	one, two := token(t, 1), token(t, 2)
	mustBe(t, "claim", m.Claim(ctx, one), nil)
	mustHold(t, m, "orders", "k", "", one.At(0))
	mustBe(t, "write", m.Apply(ctx, one.At(3), put("k", "v1")), nil)
	mustBe(t, "claim after a write", m.Claim(ctx, one), nil)
	mustHold(t, m, "orders", "k", "v1", one.At(3)) // never lowers the sequence

	mustBe(t, "next holder", m.Claim(ctx, two), nil)
	mustBe(t, "and again", m.Claim(ctx, two), nil)
	mustHold(t, m, "orders", "k", "v1", two.At(0)) // the data is as it was
	mustBe(t, "the window is closed", m.Apply(ctx, one.At(4), put("k", "late")), fence.ErrStale)
	for _, c := range []struct {
		name string
		tok  fence.Token
		want error
	}{
		{"old", one, fence.ErrStale},
		{"zero", fence.Token{}, fence.ErrNoToken},
		{"other lock", mint(t, "bills", 9, 9, "worker"), fence.ErrWrongLock},
		{"other owner", mint(t, "orders", 0, 2, "other"), fence.ErrConflict},
	} {
		mustBe(t, c.name, m.Claim(ctx, c.tok), c.want)
	}
	mustHold(t, m, "orders", "k", "v1", two.At(0))
	mustBe(t, "the zero token on a fresh resource", memory(t, "orders").Claim(ctx, fence.Token{}), fence.ErrNoToken)
}

func TestMemoryMark(t *testing.T) {
	ctx, m := context.Background(), memory(t, "orders")
	got, err := m.Mark(ctx, "orders")
	if err != nil || !got.IsZero() {
		t.Errorf("fresh: got %v, %v", got, err)
	}
	_, err = m.Mark(ctx, "bills")
	mustBe(t, "another lock", err, fence.ErrWrongLock)
	if want := `mark of "bills": fence: wrong lock: no stamp presented to a resource guarded by "orders"`; err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestNewMemoryBadLock(t *testing.T) {
	m, err := fence.NewMemory("")
	mustBe(t, "no lock", err, fence.ErrBadToken)
	if m != nil {
		t.Error("a resource beside the error")
	}
}
