package main

import (
	"context"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/redisfence"
	"github.com/etcdfence/etcdfence/integration/redistest"
)

// redisScript measures a fenced SET, which is a script, against a plain SET of the same
// value; the note says what both cost when Redis waits for the disk.
func redisScript(h *host) {
	measure := func(how string, rounds int, opts ...redistest.Option) []float64 {
		client := redistest.Start(h, opts...).Client(h)
		r, err := redisfence.Open(h.ctx, client, "{bank}:fence", "bank", nil)
		h.must(err)
		token, err := fence.NewToken("bank", 0, 1, "owner")
		h.must(err)
		value := string(make([]byte, 200))
		sequence := int64(0)
		change := func(_ context.Context, tx *redisfence.Tx) error { tx.Set("{bank}:fenced", value); return nil }
		m := h.alternate(rounds, 1000,
			func() error { return client.Set(h.ctx, "{bank}:plain", value, 0).Err() },
			func() error { sequence++; return r.Apply(h.ctx, token.At(sequence), change) })
		note("%s: set %v, fenced %v (ratio %s)", how, short(median(m[0])), short(median(m[1])), number(median(ratios(m[1], m[0]))))
		return ratios(m[1], m[0])
	}
	figure("redis_script_vs_set", measure("appendfsync always", 9), goal{"<=", 1.1})
	measure("without waiting for the disk", 9, redistest.WithoutSync())
	measure("in memory", 9, redistest.WithSetting("appendonly", "no"))
}
