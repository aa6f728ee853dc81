package main

import (
	"context"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/natsfence"
	"github.com/etcdfence/etcdfence/integration/natstest"
)

// natsKV measures a fenced write to a JetStream bucket against a plain Put of a value of
// the same size. The handle remembers the revision; the note says what it costs to read it.
func natsKV(h *host) {
	note("nats-server %s, embedded", server.VERSION)
	measure := func(how string, rounds int, opts ...natstest.Option) []float64 {
		js := natstest.Start(h, opts...).JetStream(h)
		kv := natstest.Bucket(h, js, "bench")
		r, err := natsfence.Open(h.ctx, js, "bench", "fenced", "bank", nil)
		h.must(err)
		token, err := fence.NewToken("bank", 0, 1, "owner")
		h.must(err)
		body := make([]byte, 200)
		plain := make([]byte, len(body)+110) // the line with the mark
		sequence := int64(0)
		change := func(_ context.Context, tx *natsfence.Tx) error { tx.SetBody(body); return nil }
		m := h.alternate(rounds, 250,
			func() error { _, err := kv.Put(h.ctx, "plain", plain); return err },
			func() error { sequence++; return r.Apply(h.ctx, token.At(sequence), change) },
			func() error {
				e, err := kv.Get(h.ctx, "read")
				revision := uint64(0)
				if err == nil {
					revision = e.Revision()
				}
				_, err = kv.Update(h.ctx, "read", plain, revision)
				return err
			})
		note("%s: put %v, fenced %v (ratio %s), read and update %v (ratio %s)", how, short(median(m[0])), short(median(m[1])),
			number(median(ratios(m[1], m[0]))), short(median(m[2])), number(median(ratios(m[2], m[0]))))
		return ratios(m[1], m[0])
	}
	figure("nats_cached_revision_vs_put", measure("to the file", 9), goal{"<=", 1.3})
	measure("waiting for the disk", 5, natstest.WithSync())
}
