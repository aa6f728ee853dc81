package etcdfence_test

import (
	"errors"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/fence"
)

// T11 (etcd 16028): etcd comes back from a backup, and with it revisions that the
// resource has long gone past. The cluster id does not change. The resource refuses,
// as it must; the refusal says what has happened and is not a plain stale.
func TestT11RollBack(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	id := server.ClusterID(t)
	m := memory(t, "foo")
	early := server.Snapshot(t)

	for range 50 {
		server.Put(t, "unrelated", "")
	}
	before := adapter(t, server.NewClient(t), nil)
	h := lock(t, before, "foo")
	high := h.Token()
	if err := bind(t, h, m).Apply(ctx, put("before")); err != nil {
		t.Fatal(err)
	}
	release(t, h)
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	mark, _ := m.Mark(ctx, "foo")

	server.RollBack(t, early)
	if server.ClusterID(t) != id {
		t.Fatal("the cluster id changed: the test proves nothing")
	}
	after := adapter(t, server.NewClient(t), nil)
	h = lock(t, after, "foo")
	if h.Token().Compare(high) >= 0 {
		t.Fatalf("%v is not older than %v: the test proves nothing", h.Token(), high)
	}
	_, err := etcdfence.Bind(ctx, h, resource(m))
	mustBe(t, err, etcdfence.ErrRolledBack, fence.ErrStale)
	rolled := as[*etcdfence.RolledBackError](t, err)
	if rolled.Refused.Mark != mark || rolled.Refused.Presented.Token() != h.Token() {
		t.Fatalf("the refusal names %v and %v", rolled.Refused.Presented, rolled.Refused.Mark)
	}
	if fence.SafeToRetry(err) {
		t.Fatal("no retry helps")
	}
	mustBe(t, h.Err(), etcdfence.ErrLost, etcdfence.ErrRolledBack)
	if got, _ := m.Mark(ctx, "foo"); got != mark || value(t, m) != "before" {
		t.Fatalf("the resource changed: %v, %q", got, value(t, m))
	}
	release(t, h) // its key is there, and goes

	// The operator raises the epoch everywhere.
	raised := adapter(t, server.NewClient(t), &etcdfence.Options{Epoch: 1})
	h = lock(t, raised, "foo")
	if h.Token().Revision() >= high.Revision() {
		t.Fatalf("revision %d: the test proves nothing", h.Token().Revision())
	}
	w := bind(t, h, m)
	if err := w.Apply(ctx, put("after")); err != nil {
		t.Fatal(err)
	}
	mustBe(t, m.Apply(ctx, high.At(1000), put("late")), fence.ErrStale)
	if value(t, m) != "after" {
		t.Fatalf("the value is %q", value(t, m))
	}

	// Somebody was forgotten: without the epoch he is refused, and told so.
	release(t, h)
	forgotten := lock(t, after, "foo")
	_, err = etcdfence.Bind(ctx, forgotten, resource(m))
	mustBe(t, err, etcdfence.ErrRolledBack)
	release(t, forgotten)
}

// A plain stale is not taken for a rollback: etcd does not confirm that hold.
func TestStaleIsNoRollBack(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	m := memory(t, "foo")
	ha := lock(t, adapter(t, server.NewClient(t), nil), "foo")
	wa := bind(t, ha, m)
	server.Expire(t, ha.Lease())
	bind(t, lock(t, adapter(t, server.NewClient(t), nil), "foo"), m)

	err := wa.Apply(ctx, put("late"))
	mustBe(t, err, fence.ErrStale)
	if errors.Is(err, etcdfence.ErrRolledBack) {
		t.Fatalf("reported as a rollback: %v", err)
	}
	mustBe(t, ha.Err(), etcdfence.ErrLost)
}
