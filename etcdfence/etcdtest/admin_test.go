package etcdtest_test

import (
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// leased puts a key on a new lease and returns its id.
func leased(t *testing.T, c *clientv3.Client, key string, ttl int64) clientv3.LeaseID {
	t.Helper()
	l := grant(t, c, ttl)
	if _, err := c.Put(t.Context(), key, "", clientv3.WithLease(l.ID)); err != nil {
		t.Fatal(err)
	}
	return l.ID
}

func TestRevokeAndExpire(t *testing.T) {
	s := etcdtest.Start(t)
	c := s.NewClient(t)
	for name, end := range map[string]func(testing.TB, clientv3.LeaseID){"revoke": s.Revoke, "expire": s.Expire} {
		id := leased(t, c, "k", 600)
		renewals, err := c.KeepAlive(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		<-renewals
		end(t, id)
		if _, ok := get(t, c, "k"); ok {
			t.Errorf("%s: returned before the key was gone", name)
		}
		if slices.Contains(s.Leases(t), id) {
			t.Errorf("%s: returned before the lease was gone", name)
		}
		s.WaitExpired(t, id)
		if _, err := c.KeepAliveOnce(t.Context(), id); err == nil {
			t.Errorf("%s: renewed a dead lease", name)
		}
	}
}

// Nothing but time ends this lease.
func TestWaitExpired(t *testing.T) {
	s := etcdtest.Start(t, etcdtest.WithFastLeases())
	began := time.Now()
	id := leased(t, s.Client(), "k", 1)
	s.WaitGone(t, "k")
	s.WaitExpired(t, id)
	if took := time.Since(began); took < 950*time.Millisecond {
		t.Errorf("the lease ended after %v, TTL 1 s", took)
	}
}

func TestWaitQueued(t *testing.T) {
	s := etcdtest.Start(t)
	locked := make(chan string, 3)
	for range 3 {
		session, err := concurrency.NewSession(s.NewClient(t))
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		go func() {
			m := concurrency.NewMutex(session, "lock")
			if err := m.Lock(t.Context()); err != nil {
				t.Error(err)
			}
			locked <- m.Key()
		}()
	}
	s.WaitQueued(t, "lock/", 3)
	queue := s.Queue(t, "lock/")
	for _, want := range queue {
		if got := <-locked; got != want {
			t.Errorf("%s holds the lock, want %s", got, want)
		}
		if !s.DeleteKey(t, want) {
			t.Errorf("%s was not there", want)
		}
	}
	s.WaitEmpty(t, "lock/")
	if s.DeleteKey(t, queue[0]) {
		t.Error("deleted twice")
	}
}

func TestWaitKeyAcrossARestart(t *testing.T) {
	s := etcdtest.Start(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.WaitKey(t, "k")
	}()
	s.Restart(t)
	s.Put(t, "k", "1")
	<-done
}
