package etcdtest_test

import (
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

func TestRollBack(t *testing.T) {
	s := etcdtest.Start(t)
	c := s.NewClient(t)
	l := grant(t, c, 60)
	if _, err := c.Put(t.Context(), "old", "1", clientv3.WithLease(l.ID)); err != nil {
		t.Fatal(err)
	}
	rev, id := s.Revision(t), s.ClusterID(t)
	live := s.Snapshot(t)
	s.Stop()
	cold := s.Snapshot(t)
	s.Restart(t)

	for name, snap := range map[string]*etcdtest.Snapshot{"live": live, "cold": cold} {
		for i := range 50 {
			s.Put(t, "new", fmt.Sprint(i))
		}
		if s.Revision(t) <= rev {
			t.Fatal("the revision did not rise")
		}
		s.RollBack(t, snap)
		if got := s.Revision(t); got != rev {
			t.Errorf("%s: revision %d after the roll back, want %d", name, got, rev)
		}
		if got := s.ClusterID(t); got != id {
			t.Errorf("%s: cluster id %x, want %x", name, got, id)
		}
		if _, ok := get(t, c, "new"); ok {
			t.Errorf("%s: a later key survived", name)
		}
		if v, _ := get(t, c, "old"); v != "1" {
			t.Errorf("%s: the old key has %q", name, v)
		}
		if got := s.Leases(t); len(got) != 1 || got[0] != l.ID {
			t.Errorf("%s: leases %v", name, got)
		}
	}
}

// A snapshot taken while somebody writes starts, and has everything that was
// acknowledged before it was taken.
func TestSnapshotUnderWrites(t *testing.T) {
	s := etcdtest.Start(t)
	c := s.NewClient(t)
	for round := range 5 {
		stop, stopped, started := make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := c.Put(t.Context(), fmt.Sprint("k", i%100), fmt.Sprint(round)); err != nil {
					t.Error(err)
					return
				}
				if i == 20 {
					close(started)
				}
			}
		}()
		<-started
		before := s.Revision(t)
		snap := s.Snapshot(t)
		after := s.Revision(t)
		close(stop)
		<-stopped
		s.RollBack(t, snap)
		if got := s.Revision(t); got < before || got > after {
			t.Fatalf("round %d: revision %d, want %d to %d", round, got, before, after)
		}
	}
}
