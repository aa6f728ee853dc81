package interop_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/fence"
)

// Everybody at once, over and over: never two inside, and every grant is a newer
// generation for the resource than all before it, whoever it went to.
func TestMixedFleet(t *testing.T) {
	at := apart(t)
	resource := memory(t)
	ctx := within(t, 2*minute)
	var inside atomic.Int32
	work := func(who contender, label string) error {
		revision, err := who.lock(ctx)
		if err != nil {
			return fmt.Errorf("%s: lock: %w", label, err)
		}
		if n := inside.Add(1); n != 1 {
			return fmt.Errorf("%s: %d inside", label, n)
		}
		token, err := fence.NewToken(name, 0, revision, label)
		if err != nil {
			return err
		}
		if err := resource.Claim(ctx, token); err != nil {
			return fmt.Errorf("%s: %w", label, err)
		}
		if err := resource.Apply(ctx, token.At(1), put(label)); err != nil {
			return fmt.Errorf("%s: %w", label, err)
		}
		inside.Add(-1)
		return who.unlock(ctx)
	}
	we := rival{name: "adapter", make: func(t *testing.T, at site) contender { return newOurs(t, at) }}
	var wg sync.WaitGroup
	for _, kind := range append([]rival{we}, rivals...) {
		for i := range 2 {
			who, label := kind.make(t, at), fmt.Sprintf("%s %d", kind.name, i)
			wg.Go(func() {
				for range 12 {
					if err := work(who, label); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	at.WaitEmpty(t, queue)
}

// A resource tells a late writer from the holder also if one of the two uses a raw
// mutex and TokenOf, and the other an adapter.
func TestTokenOfOrdersWithTheAdaptersTokens(t *testing.T) {
	at := embedded(t)
	ctx := within(t, minute)
	resource := memory(t)

	raw := concurrency.NewMutex(newSession(t, at), rawName)
	if err := raw.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	t1, err := etcdfence.TokenOf(raw, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := resource.Apply(ctx, t1.At(1), put("raw")); err != nil {
		t.Fatal(err)
	}

	we := newOurs(t, at)
	p := at.join(t, we, 2)
	at.Revoke(t, leaseOf(t, raw.Key()))
	p.granted(t)
	w, err := etcdfence.Bind(ctx, we.hold, resource)
	if err != nil {
		t.Fatal(err)
	}
	wantStale(t, resource.Apply(ctx, t1.At(2), put("late raw")), t1.At(2), we.hold.Token().At(0))
	if err := w.Apply(ctx, put("adapter")); err != nil {
		t.Fatal(err)
	}

	raw2 := concurrency.NewMutex(newSession(t, at), rawName)
	at.Revoke(t, leaseOf(t, p.key))
	if err := raw2.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	t3, err := etcdfence.TokenOf(raw2, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := resource.Claim(ctx, t3); err != nil {
		t.Fatal(err)
	}
	wantStale(t, w.Apply(ctx, put("late adapter")), we.hold.Token().At(2), t3.At(0))
	if got, _, _ := resource.Get(ctx, "value"); got != "adapter" {
		t.Errorf("the value is %q", got)
	}
	if err := raw2.Unlock(ctx); err != nil {
		t.Error(err)
	}
}

func memory(t *testing.T) *fence.Memory {
	t.Helper()
	m, err := fence.NewMemory(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func put(value string) func(context.Context, *fence.MemoryTx) error {
	return func(_ context.Context, tx *fence.MemoryTx) error {
		tx.Put("value", value)
		return nil
	}
}
