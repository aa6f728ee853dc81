package fence_test

import (
	"context"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

// The rule itself must cost nothing next to any store: the goal is 100 ns.
func BenchmarkMemoryApply(b *testing.B) {
	for name, change := range map[string]change{
		"empty": func(context.Context, *fence.MemoryTx) error { return nil },
		"put":   put("k", "v"),
	} {
		b.Run(name, func(b *testing.B) {
			ctx, m, tok := context.Background(), memory(b, "orders"), token(b, 1)
			b.ReportAllocs()
			for n := int64(1); b.Loop(); n++ {
				if err := m.Apply(ctx, tok.At(n), change); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMemoryRefuse(b *testing.B) {
	ctx, m, old := context.Background(), memory(b, "orders"), token(b, 1).At(1)
	if err := m.Claim(ctx, token(b, 2)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := m.Apply(ctx, old, nil); err == nil {
			b.Fatal("a stale stamp passed")
		}
	}
}

func BenchmarkTokenAt(b *testing.B) {
	tok := token(b, 1)
	b.ReportAllocs()
	for n := int64(1); b.Loop(); n++ {
		if tok.At(n).IsZero() {
			b.Fatal("zero")
		}
	}
}

func TestTokenAtDoesNotAllocate(t *testing.T) {
	tok, n := token(t, 1), int64(0)
	var s fence.Stamp
	if got := testing.AllocsPerRun(100, func() { n++; s = tok.At(n) }); got != 0 {
		t.Errorf("Token.At allocates %v times", got)
	}
	if s.Sequence() != n {
		t.Errorf("the last stamp is %v, want sequence %d", s, n)
	}
}
