package main

import (
	"context"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

// stamp measures what each write pays for its stamp.
func stamp(h *host) {
	a := h.adapter(h.etcd("nofsync").NewClient(h))
	hold, err := a.Lock(h.ctx, "lock")
	h.must(err)
	var last fence.Stamp
	rounds := perOp(func(n int) {
		for range n {
			last = hold.Stamp()
		}
	})
	allocs := testing.AllocsPerRun(1000, func() { last = hold.Stamp() })
	if last.IsZero() || hold.Err() != nil {
		h.Fatalf("the hold ended: %v", hold.Err())
	}
	figure("stamp_ns", rounds, goal{"<", 100})
	figure("stamp_allocs", []float64{allocs}, goal{"<=", 0})
	h.must(hold.Release(h.ctx))
}

// memoryApply measures the rule itself: a write to the reference resource whose change
// does nothing.
func memoryApply(h *host) {
	m, err := fence.NewMemory("lock")
	h.must(err)
	token, err := fence.NewToken("lock", 0, 1, "owner")
	h.must(err)
	sequence := int64(0)
	apply := func(ctx context.Context, change func(context.Context, *fence.MemoryTx) error) []float64 {
		return perOp(func(n int) {
			for range n {
				sequence++
				h.must(m.Apply(ctx, token.At(sequence), change))
			}
		})
	}
	nothing := func(context.Context, *fence.MemoryTx) error { return nil }
	put := func(_ context.Context, tx *fence.MemoryTx) error { tx.Put("key", "value"); return nil }
	figure("memory_apply_ns", apply(context.Background(), nothing), goal{"<", 100})
	note("memory_apply_ns: %s in a context that can end; %s with a change that puts a value",
		number(median(apply(h.ctx, nothing))), number(median(apply(context.Background(), put))))
}

// perOp returns the nanoseconds that one of n operations takes, in several rounds.
func perOp(ops func(n int)) (rounds []float64) {
	const n = 300_000
	ops(n / 10)
	for range 9 {
		start := time.Now()
		ops(n)
		rounds = append(rounds, float64(time.Since(start).Nanoseconds())/n)
	}
	return rounds
}
