package fence_test

import (
	"context"
	"errors"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

type change = func(context.Context, *fence.MemoryTx) error

// token is generation r of the lock "orders", held by "worker".
func token(tb testing.TB, r int64) fence.Token { return mint(tb, "orders", 0, r, "worker") }

func mint(tb testing.TB, lock string, epoch, revision int64, owner string) fence.Token {
	tb.Helper()
	t, err := fence.NewToken(lock, epoch, revision, owner)
	if err != nil {
		tb.Fatalf("NewToken(%q, %d, %d, %q): %v", lock, epoch, revision, owner, err)
	}
	return t
}

func memory(tb testing.TB, lock string) *fence.Memory {
	tb.Helper()
	m, err := fence.NewMemory(lock)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func put(key, value string) change {
	return func(_ context.Context, tx *fence.MemoryTx) error {
		tx.Put(key, value)
		return nil
	}
}

// mustBe fails unless err matches want; a nil want asks for success.
func mustBe(tb testing.TB, what string, err, want error) {
	tb.Helper()
	if want == nil && err != nil || want != nil && !errors.Is(err, want) {
		tb.Fatalf("%s: got %v, want %v", what, err, want)
	}
}

// mustHold fails unless m has exactly this value under key and this mark.
func mustHold(tb testing.TB, m *fence.Memory, lock, key, value string, mark fence.Stamp) {
	tb.Helper()
	ctx := context.Background()
	if got, _, err := m.Get(ctx, key); err != nil || got != value {
		tb.Fatalf("value of %q: got %q, %v, want %q", key, got, err, value)
	}
	if got, err := m.Mark(ctx, lock); err != nil || got != mark {
		tb.Fatalf("mark: got %v, %v, want %v", got, err, mark)
	}
}
