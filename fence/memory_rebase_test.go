package fence_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

func TestMemoryRebase(t *testing.T) {
	ctx := context.Background()
	m, err := fence.NewMemory("foo")
	if err != nil {
		t.Fatal(err)
	}
	token := func(lock string, epoch, revision int64) fence.Token {
		tok, err := fence.NewToken(lock, epoch, revision, "o")
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	high, low := token("foo", 9, 100).At(4), token("foo", 0, 7).At(0)

	for _, bad := range []struct {
		from, to fence.Stamp
		want     error
	}{
		{fence.Stamp{}, fence.Stamp{}, fence.ErrBadToken},
		{high, fence.Stamp{}, fence.ErrBadToken},
		{token("bar", 0, 1).At(0), low, fence.ErrBadToken},
		{token("bar", 0, 1).At(0), token("bar", 0, 2).At(0), fence.ErrWrongLock},
		{high, low, fence.ErrMoved}, // there is no mark
	} {
		if err := m.Rebase(ctx, bad.from, bad.to); !errors.Is(err, bad.want) || fence.SafeToRetry(err) {
			t.Errorf("from %v to %v: %v, want %v", bad.from, bad.to, err, bad.want)
		}
	}
	if err := m.Rebase(ctx, fence.Stamp{}, high); err != nil {
		t.Fatal(err)
	}
	moved := m.Rebase(ctx, token("foo", 9, 100).At(3), low)
	if !errors.Is(moved, fence.ErrMoved) || !strings.Contains(moved.Error(), high.String()) {
		t.Fatalf("from another mark: %v", moved)
	}
	if err := m.Rebase(ctx, high, low); err != nil {
		t.Fatal(err)
	}
	if mark, _ := m.Mark(ctx, "foo"); mark != low {
		t.Fatalf("the mark is %v", mark)
	}
	put := func(_ context.Context, tx *fence.MemoryTx) error { tx.Put("k", "v"); return nil }
	if err := m.Apply(ctx, low, put); !errors.Is(err, fence.ErrReplayed) {
		t.Fatalf("the new mark itself: %v", err)
	}
	if err := m.Apply(ctx, token("foo", 0, 7).At(1), put); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := m.Rebase(cancelled, low, high); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// Parallel writers of one hold: in any order nothing of theirs is refused, and
// older generations still are.
func TestMemoryAnyOrder(t *testing.T) {
	ctx := context.Background()
	m, err := fence.NewMemory("foo")
	if err != nil {
		t.Fatal(err)
	}
	r := m.AnyOrder()
	old, _ := fence.NewToken("foo", 0, 1, "a")
	tok, _ := fence.NewToken("foo", 0, 2, "b")
	other, _ := fence.NewToken("foo", 0, 2, "c")
	nothing := func(context.Context, *fence.MemoryTx) error { return nil }
	if err := r.Claim(ctx, tok); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range int64(50) {
		wg.Go(func() {
			for _, s := range []fence.Stamp{tok.At(50 - i), tok.At(i)} {
				if err := r.Apply(ctx, s, nothing); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if mark, _ := r.Mark(ctx, "foo"); mark != tok.At(50) {
		t.Fatalf("the mark is %v", mark)
	}
	for s, want := range map[fence.Stamp]error{old.At(99): fence.ErrStale, other.At(1): fence.ErrConflict, {}: fence.ErrNoToken} {
		if err := r.Apply(ctx, s, nothing); !errors.Is(err, want) {
			t.Errorf("%v: %v, want %v", s, err, want)
		}
	}
	if err := m.Apply(ctx, tok.At(50), nothing); !errors.Is(err, fence.ErrReplayed) {
		t.Fatalf("the strict view of the same resource: %v", err)
	}
}
