package fencetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
)

func TestCheckMemory(t *testing.T) {
	if err := fencetest.Check(t.Context(), newMemory); err != nil {
		t.Fatal(err)
	}
}

// Whatever a resource does, the kit comes back and says which case it was.
func TestBadlyBehaved(t *testing.T) {
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	block := func(context.Context, fence.Stamp, liarChange) error { <-forever; return nil }
	for name, c := range map[string]struct {
		lie  func(*liar)
		want string
	}{
		"panics": {func(l *liar) {
			l.judge = func(string, fence.Stamp, fence.Stamp) error { panic("nil map") }
		}, "panicked: nil map"},
		"hangs": {func(l *liar) {
			l.around = func(liarApply) liarApply { return block }
		}, "has not returned"},
		"is contended for ever": {func(l *liar) {
			l.around = func(liarApply) liarApply {
				return func(context.Context, fence.Stamp, liarChange) error { return fence.ErrContended }
			}
		}, "contended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			made := 0
			factory := liars(50*time.Millisecond, c.lie)
			err := fencetest.Check(ctx, func(ctx context.Context) (fencetest.Subject[*liarTx], error) {
				if made++; made == 2 {
					cancel() // two cases are enough of this
				}
				return factory(ctx)
			})
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want one that says %q", err, c.want)
			}
			var v *fencetest.Violation
			if !errors.As(err, &v) || v.Rule == "" || v.Case == "" || len(v.History) == 0 {
				t.Errorf("the first violation is %+v", v)
			}
		})
	}
}

// A subject that cannot be made is a failure of each case, and no reason to panic.
func TestBrokenFactory(t *testing.T) {
	broken := errors.New("no disk")
	err := fencetest.Check(t.Context(), func(context.Context) (fencetest.Subject[*fence.MemoryTx], error) { return nil, broken })
	if err == nil || !strings.Contains(err.Error(), "no disk") {
		t.Fatal(err)
	}
	err = fencetest.Check(t.Context(), func(context.Context) (fencetest.Subject[*fence.MemoryTx], error) { panic("no disk") })
	if err == nil || !strings.Contains(err.Error(), "panicked: no disk") {
		t.Fatal(err)
	}
}

// A violation is read by a person who has not written the kit.
func TestViolationText(t *testing.T) {
	err := fencetest.Check(t.Context(), liars(20*time.Second, func(l *liar) { l.claimed = func(*state, fence.Token) {} }))
	want := `R5/claim-comes-first: orders/42@4#1 must be refused: a newer token has claimed before the first write ever
      1-2   main     Claim orders/42@5#0 of "holder 5": ok
      3-4   main     Read: ok
      5-6   main     Apply orders/42@4#1 of "holder 4" value "written by a refused stamp": ok`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want one that has\n%s", err, want)
	}
}
