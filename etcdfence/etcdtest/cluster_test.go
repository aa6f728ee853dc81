package etcdtest_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// put writes with a client, again and again as long as an election may take: a
// proposal that gets lost between two leaders is answered after 7 s only.
func put(t *testing.T, c *clientv3.Client, key, value string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		_, err := c.Put(ctx, key, value)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("put %q: %v", key, err)
		}
	}
}

func TestClusterOneMemberRestarted(t *testing.T) {
	began := time.Now()
	c := etcdtest.StartCluster(t, 3)
	t.Logf("start: %v", time.Since(began))
	c.Put(t, "k", "1")
	for _, m := range c.Members() {
		m.Stop()
		c.Put(t, "while-"+m.Name(), "down")
		m.Restart(t)
		if v, _ := get(t, m.Client(), "k"); v != "1" {
			t.Errorf("%s has %q after its restart", m.Name(), v)
		}
		if v, _ := get(t, m.Client(), "while-"+m.Name()); v != "down" {
			t.Errorf("%s misses what was written while it was down", m.Name())
		}
	}
}

func TestClusterLeader(t *testing.T) {
	c := etcdtest.StartCluster(t, 3)
	id := leased(t, c.Client(), "leased", 60)

	// Moved.
	first := c.Leader(t)
	var other *etcdtest.Server
	for _, m := range c.Members() {
		if m != first {
			other = m
		}
	}
	c.MoveLeader(t, other)
	if got := c.Leader(t); got != other {
		t.Fatalf("leader %s, want %s", got.Name(), other.Name())
	}
	c.MoveLeader(t, other) // nothing to do

	// Killed.
	other.Kill()
	next := c.Leader(t)
	if next == other || other.Running() {
		t.Fatal("the killed leader still leads")
	}
	put(t, c.Client(), "k", "1")

	// No majority.
	next.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.Client().Put(ctx, "k", "2"); err == nil {
		t.Error("a minority accepted a write")
	}
	c.Restart(t)
	put(t, c.Client(), "k", "3")
	c.Expire(t, id)
	c.WaitGone(t, "leased")
}

func TestClusterIsolatedLeader(t *testing.T) {
	c := etcdtest.StartCluster(t, 3)
	old := c.Leader(t)
	c.Isolate(old)
	next := c.Leader(t)
	if next == old {
		t.Fatal("an isolated leader still leads")
	}
	put(t, next.Client(), "k", "1")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := old.Client().Put(ctx, "k", "2"); err == nil {
		t.Error("the minority accepted a write")
	}
	c.Rejoin(old)
	put(t, old.Client(), "k", "3")
}

func TestClusterMemberIsNotRolledBack(t *testing.T) {
	c := etcdtest.StartCluster(t, 3)
	r := &recorder{TB: t}
	if got := r.run(func(tb testing.TB) { c.Members()[0].Snapshot(tb) }); got == "" {
		t.Error("no report")
	}
}
