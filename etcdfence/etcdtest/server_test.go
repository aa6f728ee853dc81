package etcdtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap/zapcore"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// get returns the value of a key, and whether it exists.
func get(t *testing.T, c *clientv3.Client, key string) (string, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	resp, err := c.Get(ctx, key)
	if err != nil {
		t.Fatalf("get %q: %v", key, err)
	}
	if len(resp.Kvs) == 0 {
		return "", false
	}
	return string(resp.Kvs[0].Value), true
}

func grant(t *testing.T, c *clientv3.Client, ttl int64) *clientv3.LeaseGrantResponse {
	t.Helper()
	l, err := c.Grant(t.Context(), ttl)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestStartIsFastAndKeepsProductionTiming(t *testing.T) {
	began := time.Now()
	s := etcdtest.Start(t)
	took := time.Since(began)
	t.Logf("start: %v", took)
	if took > time.Second {
		t.Errorf("start took %v, want under a second", took)
	}
	if l := grant(t, s.Client(), 1); l.TTL != 2 {
		t.Errorf("asked for a TTL of 1 s, granted %d, want 2 as in production", l.TTL)
	}
	if cfg := s.Etcd().Config(); cfg.TickMs != 100 || cfg.ElectionMs != 1000 || !cfg.UnsafeNoFsync {
		t.Errorf("heartbeat %d, election %d, nofsync %v", cfg.TickMs, cfg.ElectionMs, cfg.UnsafeNoFsync)
	}
}

func TestStartOptions(t *testing.T) {
	s := etcdtest.Start(t, etcdtest.WithFastLeases(), etcdtest.WithFsync())
	if l := grant(t, s.Client(), 1); l.TTL != 1 {
		t.Errorf("granted %d, want 1", l.TTL)
	}
	if s.Etcd().Config().UnsafeNoFsync {
		t.Error("fsync is off")
	}
}

func TestLogAndConfig(t *testing.T) {
	r := &recorder{TB: t}
	got := r.run(func(tb testing.TB) {
		s := etcdtest.Start(tb, etcdtest.WithLog(zapcore.InfoLevel),
			etcdtest.WithConfig(func(c *embed.Config) { c.MaxTxnOps = 1 }))
		txn := s.Client().Txn(t.Context()).Then(clientv3.OpPut("a", ""), clientv3.OpPut("b", ""))
		if _, err := txn.Commit(); !errors.Is(err, rpctypes.ErrTooManyOps) {
			tb.Errorf("two operations: %v", err)
		}
	})
	if got != "" {
		t.Error(got)
	}
	if !strings.Contains(r.logged(), "ready to serve client requests") {
		t.Errorf("log: %q", r.logged())
	}
}

func TestServersAreApart(t *testing.T) {
	a, b := etcdtest.Start(t), etcdtest.Start(t)
	a.Put(t, "k", "1")
	if _, ok := get(t, b.Client(), "k"); ok {
		t.Error("a key of one server is in the other")
	}
	if a.ClusterID(t) == b.ClusterID(t) {
		t.Error("two servers share a cluster id")
	}
}

func TestRestartKeepsDataLeaseAndAddress(t *testing.T) {
	s := etcdtest.Start(t)
	c := s.NewClient(t)
	l := grant(t, c, 60)
	if _, err := c.Put(t.Context(), "k", "1", clientv3.WithLease(l.ID)); err != nil {
		t.Fatal(err)
	}
	rev, addr := s.Revision(t), s.Address()

	for name, end := range map[string]func(){"stop": s.Stop, "kill": s.Kill} {
		end()
		if s.Running() || s.Etcd() != nil {
			t.Fatalf("%s: still running", name)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if _, err := c.Get(ctx, "k"); err == nil {
			t.Fatalf("%s: a stopped server answers", name)
		}
		cancel()
		s.Restart(t)
		if v, _ := get(t, c, "k"); v != "1" {
			t.Fatalf("%s: value %q after the restart", name, v)
		}
		if s.Revision(t) != rev || s.Address() != addr {
			t.Fatalf("%s: revision %d -> %d, address %s -> %s", name, rev, s.Revision(t), addr, s.Address())
		}
		if got := s.Leases(t); len(got) != 1 || got[0] != l.ID {
			t.Fatalf("%s: leases %v", name, got)
		}
	}
	s.Revoke(t, l.ID)
	s.WaitGone(t, "k")
}

// A client that watches keeps etcd's own Close waiting for 7 s.
func TestStopDoesNotWaitForWatchers(t *testing.T) {
	s := etcdtest.Start(t)
	session, err := concurrency.NewSession(s.NewClient(t))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Orphan()
	w := s.Client().Watch(t.Context(), "k", clientv3.WithCreatedNotify())
	<-w
	began := time.Now()
	s.Stop()
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("stop took %v", took)
	}
}
