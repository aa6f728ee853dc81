package interop_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/fence"
)

// The whole story on the server that the distribution ships: acquire, wait, lose,
// refuse, release. Nothing in the adapter may need a newer server.
func TestStoryOnAnOlderServer(t *testing.T) {
	at := older(t)
	ctx := within(t, minute)
	resource := memory(t)
	a, b := newOurs(t, at), newOurs(t, at)

	pa := at.join(t, a, 1)
	pa.granted(t)
	old := a.hold.Token()
	wa, err := etcdfence.Bind(ctx, a.hold, resource)
	if err != nil {
		t.Fatal(err)
	}
	if err := wa.Apply(ctx, put("A")); err != nil {
		t.Fatal(err)
	}
	tryFails(t, b)
	pb := at.join(t, b, 2)
	pb.waits(t)

	at.Revoke(t, leaseOf(t, pa.key))
	pb.granted(t)
	ends(t, a.hold, etcdfence.ErrLeaseGone)
	wb, err := etcdfence.Bind(ctx, b.hold, resource)
	if err != nil {
		t.Fatal(err)
	}
	if err := wb.Apply(ctx, put("B")); err != nil {
		t.Fatal(err)
	}
	wantStale(t, wa.Apply(ctx, put("late A")), old.At(2), b.hold.Token().At(1))
	if err := a.unlock(ctx); !errors.Is(err, etcdfence.ErrNotHeld) {
		t.Errorf("A's late release: %v", err)
	}
	if err := b.hold.Verify(ctx); err != nil {
		t.Errorf("B no longer holds: %v", err)
	}

	// A key deleted under a live lease is noticed, too.
	pa = at.join(t, a, 2)
	at.DeleteKey(t, pb.key)
	pa.granted(t)
	ends(t, b.hold, etcdfence.ErrKeyDeleted)
	pa.unlock(t)
	at.WaitEmpty(t, queue)
	if got, _, _ := resource.Get(ctx, "value"); got != "B" {
		t.Errorf("the value is %q", got)
	}
}

// ends waits until the hold has ended and checks the cause.
func ends(t *testing.T, h *etcdfence.Hold, cause error) {
	t.Helper()
	select {
	case <-h.Done():
	case <-within(t, 8*time.Second).Done(): // less than the TTL: it is not the deadline that ends it
		t.Fatalf("%v has not ended", h)
	}
	if err := context.Cause(h.Context()); !errors.Is(err, etcdfence.ErrLost) || !errors.Is(err, cause) {
		t.Fatalf("%v ended with %v, not %v", h, err, cause)
	}
}

// wantStale checks that a write was refused as stale, and both stamps.
func wantStale(t *testing.T, err error, presented, mark fence.Stamp) {
	t.Helper()
	var refused *fence.RefusedError
	if !errors.As(err, &refused) || !errors.Is(err, fence.ErrStale) || errors.Is(err, etcdfence.ErrRolledBack) {
		t.Fatalf("got %v, want stale", err)
	}
	if refused.Presented != presented || refused.Mark != mark {
		t.Fatalf("got %v, want %v against %v", err, presented, mark)
	}
}
