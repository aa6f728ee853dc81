package etcdtest_test

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

func TestCounter(t *testing.T) {
	s := etcdtest.Start(t)
	var n etcdtest.Counter
	c := s.NewClient(t, n.Option())
	id := leased(t, c, "k", 60)
	get(t, c, "k")
	if _, err := c.Txn(t.Context()).Then(clientv3.OpGet("k")).Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.KeepAliveOnce(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	<-c.Watch(t.Context(), "k", clientv3.WithCreatedNotify())
	const want = "LeaseGrant 1, LeaseKeepAlive 1, Put 1, Range 1, Txn 1, Watch 1"
	if n.String() != want || n.Count() != 6 || n.Count("Put", "Txn") != 2 {
		t.Errorf("counted %v (%d), want %v", n.String(), n.Count(), want)
	}
	n.Reset()
	if n.Count() != 0 {
		t.Error("not reset")
	}
}
