package etcdfence_test

import (
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/fence"
)

// TestNineFacts is the story this project exists for, on a real embedded etcd: a
// holder is paused past its lease, somebody else takes the lock and writes, and the
// first one wakes up and writes too.
func TestNineFacts(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	account := memory(t, "account")
	unfenced := func(value string) { server.Put(t, "unfenced", value) } // answers "ok" to everybody

	a := adapter(t, server.NewClient(t), ttl2)
	b := adapter(t, server.NewClient(t), ttl2)

	// 1. A gets a token.
	holdA := lock(t, a, "account")
	tokenA := holdA.Token()
	if tokenA.IsZero() || tokenA.Lock() != "account" || tokenA.Revision() <= 0 {
		t.Fatalf("1. A's token is %v", tokenA)
	}
	writeA := bind(t, holdA, account)

	// 2. While A's lease lives B does not get the lock.
	_, err := b.TryLock(ctx, "account")
	mustBe(t, err, etcdfence.ErrLocked)

	// 3. After expiry B gets a strictly larger token.
	server.Expire(t, holdA.Lease())
	holdB := lock(t, b, "account")
	if holdB.Token().Compare(tokenA) <= 0 {
		t.Fatalf("3. B's token %v is not newer than A's %v", holdB.Token(), tokenA)
	}

	// 4. B's write is accepted.
	writeB := bind(t, holdB, account)
	if err := writeB.Apply(ctx, put("v2 of B")); err != nil {
		t.Fatalf("4. B's write: %v", err)
	}
	accepted, err := account.Mark(ctx, "account")
	if err != nil {
		t.Fatal(err)
	}
	unfenced("v2 of B")

	// 5. A's late write is refused with the stale result.
	err = writeA.Apply(ctx, put("v1 of A"))
	mustBe(t, err, fence.ErrStale)
	unfenced("v1 of A")

	// 6. The value is still B's.
	if got := value(t, account); got != "v2 of B" {
		t.Fatalf("6. the value is %q", got)
	}

	// 7. The same stamp presented again is refused as a replay.
	err = account.Apply(ctx, accepted, put("v2 of B again"))
	mustBe(t, err, fence.ErrReplayed)

	// 8. A's late release is refused and B still holds.
	mustBe(t, holdA.Release(ctx), etcdfence.ErrNotHeld)
	if err := holdB.Verify(ctx); err != nil {
		t.Fatalf("8. B no longer holds: %v", err)
	}

	// 9. The same two writes on a resource without a fence lost B's value.
	lost, err := server.Client().Get(ctx, "unfenced")
	if err != nil || string(lost.Kvs[0].Value) != "v1 of A" {
		t.Fatalf("9. the unfenced resource has %v, %v", lost, err)
	}
}
