package kit_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
	"github.com/etcdfence/etcdfence/integration/kit"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("rapid.nofailfile", "true"); err != nil { // the liars fail by design
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// subject is a Memory, or a liar on top of one.
type subject struct {
	*fence.Memory
	resource fence.FencedResource[*fence.MemoryTx]
}

func (s subject) Resource() fence.FencedResource[*fence.MemoryTx] { return s.resource }
func (s subject) Lock() string                                    { return "orders/42" }
func (s subject) Close() error                                    { return nil }

func (s subject) Write(_ context.Context, tx *fence.MemoryTx, value string) error {
	tx.Put("value", value)
	return nil
}

func (s subject) Read(ctx context.Context) (string, error) {
	value, _, err := s.Get(ctx, "value")
	return value, err
}

// on is a factory of subjects whose resource is made from a Memory.
func on(resource func(*fence.Memory) fence.FencedResource[*fence.MemoryTx]) fencetest.Factory[*fence.MemoryTx] {
	return func(context.Context) (fencetest.Subject[*fence.MemoryTx], error) {
		m, err := fence.NewMemory("orders/42")
		return subject{m, resource(m)}, err
	}
}

func honest(m *fence.Memory) fence.FencedResource[*fence.MemoryTx] { return m }

func TestMemoryLinearizable(t *testing.T) { kit.Linearizable(t, on(honest)) }

func TestMemorySequences(t *testing.T) { kit.Sequences(t, on(honest)) }

// flaky is honest on a bad connection: contended now and then, and replies get lost, of
// calls that were done and of calls that were not.
type flaky struct{ *fence.Memory }

func (f flaky) Apply(ctx context.Context, s fence.Stamp, change func(context.Context, *fence.MemoryTx) error) error {
	return badly(func() error { return f.Memory.Apply(ctx, s, change) })
}

func (f flaky) Claim(ctx context.Context, t fence.Token) error {
	return badly(func() error { return f.Memory.Claim(ctx, t) })
}

func badly(call func() error) error {
	dice := rand.IntN(12)
	switch dice {
	case 0, 1:
		return fence.ErrContended
	case 2:
		return fence.ErrUnknownOutcome
	}
	if err := call(); err != nil || dice > 3 {
		return err
	}
	return fence.ErrUnknownOutcome
}

func TestFlakyMemory(t *testing.T) {
	bad := on(func(m *fence.Memory) fence.FencedResource[*fence.MemoryTx] { return flaky{m} })
	kit.Linearizable(t, bad)
	kit.Sequences(t, bad)
}

// gapped compares first and writes later, past the fence.
type gapped struct{ *fence.Memory }

func (g gapped) Apply(ctx context.Context, s fence.Stamp, change func(context.Context, *fence.MemoryTx) error) error {
	mark, err := g.Mark(ctx, "orders/42")
	if err != nil {
		return err
	}
	if err := fence.Judge("orders/42", mark, s); err != nil {
		return err
	}
	for range 10 {
		runtime.Gosched() // the gap
	}
	return g.AnyOrder().Apply(ctx, s, change) // which does not look at the sequence again
}

func TestLinearizableCatchesAGap(t *testing.T) {
	w := watch(t, func(t kit.TB) {
		kit.Linearizable(t, on(func(m *fence.Memory) fence.FencedResource[*fence.MemoryTx] { return gapped{m} }))
	})
	if !strings.Contains(w, "no order explains these answers") {
		t.Errorf("the liar passes: %q", w)
	}
}

// rounded compares the numbers as doubles.
type rounded struct{ *fence.Memory }

func (r rounded) Apply(ctx context.Context, s fence.Stamp, change func(context.Context, *fence.MemoryTx) error) error {
	t := s.Token()
	if revision := int64(float64(t.Revision())); revision > 0 && !s.IsZero() {
		near, err := fence.NewToken(t.Lock(), t.Epoch(), revision, t.Owner())
		if err != nil {
			return err
		}
		s = near.At(s.Sequence())
	}
	return r.Memory.Apply(ctx, s, change)
}

func TestSequencesCatchesRounding(t *testing.T) {
	w := watch(t, func(t kit.TB) {
		kit.Sequences(t, on(func(m *fence.Memory) fence.FencedResource[*fence.MemoryTx] { return rounded{m} }))
	})
	if !strings.Contains(w, "9007199254740993") {
		t.Errorf("the liar passes: %q", w)
	}
}
