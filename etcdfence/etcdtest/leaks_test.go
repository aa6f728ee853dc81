package etcdtest_test

import (
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// foreign makes a client that the kit does not know, and uses it.
func foreign(t *testing.T, s *etcdtest.Server) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	get(t, c, "k")
	return c
}

func TestAForgottenClientFailsTheTest(t *testing.T) {
	r := &recorder{TB: t}
	var c *clientv3.Client
	got := r.run(func(tb testing.TB) { c = foreign(t, etcdtest.Start(tb, etcdtest.WithPatience(time.Second))) })
	c.Close()
	if !strings.Contains(got, "a client is still connected") || !strings.Contains(got, "Range") {
		t.Errorf("reported %q", got)
	}

	r = &recorder{TB: t}
	got = r.run(func(tb testing.TB) {
		foreign(t, etcdtest.Start(tb)).Close()
		c = foreign(t, etcdtest.Start(tb, etcdtest.WithOpenClients()))
	})
	c.Close()
	if got != "" {
		t.Errorf("a closed one, and an allowed one: %q", got)
	}
}

func TestNoLeasesLeft(t *testing.T) {
	s := etcdtest.Start(t)
	id := leased(t, s.Client(), "mine", 60)
	r := &recorder{TB: t}
	got := r.run(func(tb testing.TB) { s.NoLeasesLeft(tb) })
	if !strings.Contains(got, `"mine"`) {
		t.Errorf("reported %q", got)
	}
	s.Revoke(t, id)
	s.NoLeasesLeft(t)
}

func TestVerifyNoLeaks(t *testing.T) {
	etcdtest.VerifyNoLeaks(t)
	s := etcdtest.Start(t)
	link := s.Link(t)
	get(t, link.NewClient(t), "k")
	link.Cut()
}

func TestVerifyNoLeaksReports(t *testing.T) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	r := &recorder{TB: t}
	got := r.run(func(tb testing.TB) {
		etcdtest.VerifyNoLeaksFor(tb, 0, nil)
		go func() {
			defer close(stopped)
			<-stop
		}()
	})
	close(stop)
	<-stopped
	if !strings.Contains(got, "TestVerifyNoLeaksReports") {
		t.Errorf("reported %q", got)
	}
}

func TestWaitsAreBounded(t *testing.T) {
	s := etcdtest.Start(t, etcdtest.WithPatience(300*time.Millisecond))
	s.Put(t, "k", "1")
	for want, wait := range map[string]func(testing.TB){
		`waited 300ms for key "k" to be gone; keys there: 1`: func(tb testing.TB) { s.WaitGone(tb, "k") },
		`for 2 keys under "k"; keys there: 1`:                func(tb testing.TB) { s.WaitQueued(tb, "k", 2) },
		"there is no such lease":                             func(tb testing.TB) { s.Expire(tb, 42) },
	} {
		r := &recorder{TB: t}
		if got := r.run(wait); !strings.Contains(got, want) {
			t.Errorf("reported %q, want %q", got, want)
		}
	}
}
