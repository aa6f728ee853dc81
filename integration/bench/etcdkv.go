package main

import (
	"context"

	"github.com/etcdfence/etcdfence/etcdfence/etcdkv"
	"github.com/etcdfence/etcdfence/fence"
)

// etcdKV measures a fenced write to etcd against a plain Put of the same value, and the
// same with the lock's key compared too.
func etcdKV(h *host) {
	measure := func(mode string, rounds int) []float64 {
		client := h.etcd(mode).NewClient(h)
		token, err := fence.NewToken("bank", 0, 1, "1/owner")
		h.must(err)
		r, err := etcdkv.New(client, "fenced", "bank", nil)
		h.must(err)
		h.must(r.Claim(h.ctx, token))
		created, err := client.Put(h.ctx, "locks/bank/1", "")
		h.must(err)
		holder, err := fence.NewToken("bank", 0, created.Header.Revision, "1/owner")
		h.must(err)
		k, err := etcdkv.New(client, "held", "bank", &etcdkv.Options{LockKey: etcdkv.LockKey("locks")})
		h.must(err)
		h.must(k.Claim(h.ctx, holder))
		var ours, theirs int64
		change := func(_ context.Context, tx *etcdkv.Tx) error { tx.Put("balance", "10"); return nil }
		m := h.alternate(rounds, 250,
			func() error { _, err := client.Put(h.ctx, "plain/balance", "10"); return err },
			func() error { ours++; return r.Apply(h.ctx, token.At(ours), change) },
			func() error { theirs++; return k.Apply(h.ctx, holder.At(theirs), change) })
		note("%s: put %v, fenced %v (ratio %s), fenced with the lock's key %v (ratio %s)", mode, short(median(m[0])),
			short(median(m[1])), number(median(ratios(m[1], m[0]))), short(median(m[2])), number(median(ratios(m[2], m[0]))))
		return ratios(m[2], m[0])
	}
	figure("etcdkv_with_lock_key_vs_put", measure("fsync", 9), goal{"<=", 1.25})
	measure("nofsync", 5)
}
