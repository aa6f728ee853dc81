package redisfence_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/redisfence"
	"github.com/etcdfence/etcdfence/integration/redistest"
)

func TestOpenRefusesBadArguments(t *testing.T) {
	p := fresh(t)
	ctx := t.Context()
	forever := redistest.Shared(t).Options()
	forever.ReadTimeout = -1
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	t.Cleanup(func() { must(t, ring.Close()) })
	waits := redis.NewClient(forever)
	t.Cleanup(func() { must(t, waits.Close()) })
	for name, client := range map[string]redis.UniversalClient{"nil": nil, "a nil client": (*redis.Client)(nil),
		"a nil cluster": (*redis.ClusterClient)(nil), "a ring": ring, "one that waits for ever": waits} {
		if _, err := redisfence.Open(ctx, client, p.mark(), lock, nil); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	forever.ContextTimeoutEnabled = true
	heeds := redis.NewClient(forever)
	t.Cleanup(func() { must(t, heeds.Close()) })
	_, err := redisfence.Open(ctx, heeds, p.mark(), lock, nil)
	must(t, err)
	for _, bad := range []string{"", "{}", "}a{", "{}a", "a{"} {
		if _, err := redisfence.Open(ctx, p.Client, bad, lock, nil); err == nil {
			t.Errorf("the key %q is accepted", bad)
		}
	}
	for _, bad := range []string{"", "a\n", "\xff"} {
		_, err := redisfence.Open(ctx, p.Client, p.mark(), bad, nil)
		mustBe(t, err, fence.ErrBadToken)
	}
	for _, opts := range []redisfence.Options{{Attempts: -1}, {Operations: -1}} {
		if _, err := redisfence.Open(ctx, p.Client, p.mark(), lock, &opts); err == nil {
			t.Errorf("%+v is accepted", opts)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = redisfence.Open(ended, p.Client, p.mark(), lock, nil)
	mustBe(t, err, context.Canceled)
}

// A key without a tag may be the mark: those beside it get one.
func TestPlainKey(t *testing.T) {
	p := redistest.Shared(t).Client(t)
	r, err := redisfence.Open(t.Context(), p, "plain key \x00\xff", lock, nil)
	must(t, err)
	must(t, r.Apply(fence.WithOperation(t.Context(), "pay"), at(t, 5, 1), do(func(tx *redisfence.Tx) {
		tx.Set("{plain key \x00\xff}\r\n", "1")
	})))
	for _, key := range []string{"plain key \x00\xff", "{plain key \x00\xff}:operations", "{plain key \x00\xff}:order", "{plain key \x00\xff}\r\n"} {
		if n, err := p.Exists(t.Context(), key).Result(); err != nil || n != 1 {
			t.Errorf("%q: %d, %v", key, n, err)
		}
	}
}

// Two locks must not share a mark.
func TestMarkOfAnotherLock(t *testing.T) {
	p := fresh(t)
	r := p.open(t, nil)
	other, err := redisfence.Open(t.Context(), p.Client, p.mark(), "other", nil)
	must(t, err)
	must(t, r.Apply(t.Context(), at(t, 5, 1), p.set(":a", "one")))
	tok, err := fence.NewToken("other", 0, 9, "o")
	must(t, err)
	_, merr := other.Mark(t.Context(), "other")
	for what, err := range map[string]error{
		"Apply":  other.Apply(t.Context(), tok.At(1), p.set(":a", "two")),
		"Claim":  other.Claim(t.Context(), tok),
		"Rebase": other.Rebase(t.Context(), fence.Stamp{}, tok.At(0)),
		"Mark":   merr,
	} {
		var refused *fence.RefusedError
		if !errors.Is(err, fence.ErrWrongLock) || !errors.As(err, &refused) || refused.Lock != lock || refused.Mark != at(t, 5, 1) {
			t.Errorf("%s: %v", what, err)
		}
	}
	marked(t, r, at(t, 5, 1))
}
