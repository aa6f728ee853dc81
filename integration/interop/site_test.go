package interop_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

const minute = time.Minute

// site is the etcd of a test.
type site struct {
	*etcdtest.Admin
	client   *clientv3.Client // for looking on
	endpoint string
}

func embedded(t *testing.T) site {
	t.Helper()
	s := etcdtest.Start(t)
	return site{s.Admin, s.Client(), s.Endpoint()}
}

// apart is the same etcd in a process of its own. It is for the lock service, whose
// goroutines an embedded server leaves behind when it stops.
func apart(t *testing.T) site {
	t.Helper()
	t.Setenv(asEtcd, "1")
	p := etcdtest.StartProcess(t, os.Args[0], "--log-level", "error", "--unsafe-no-fsync")
	return site{p.Admin, p.Client(), p.Endpoint()}
}

// older is the server that the distribution ships, in a process of its own: 3.4 in
// Debian 12.
func older(t *testing.T) site {
	t.Helper()
	p := etcdtest.StartProcess(t, installed(t, "etcd"))
	status, err := p.Client().Status(t.Context(), p.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	t.Log("etcd", status.Version)
	return site{p.Admin, p.Client(), p.Endpoint()}
}

// withRivals runs a test with each kind of rival, on the newest server and an older one.
func withRivals(t *testing.T, test func(t *testing.T, at site, make func(t *testing.T, at site) contender)) {
	for _, r := range rivals {
		t.Run(r.name, func(t *testing.T) { test(t, r.at(t), r.make) })
		t.Run(r.name+" on an older server", func(t *testing.T) { test(t, older(t), r.make) })
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// first returns the oldest key in the queue, which is the holder's.
func (at site) first(t *testing.T) (key string, revision int64) {
	t.Helper()
	resp, err := at.client.Get(within(t, 20*time.Second), queue, clientv3.WithFirstCreate()...)
	if err != nil || len(resp.Kvs) == 0 {
		t.Fatalf("nobody is in the queue: %v", err)
	}
	return string(resp.Kvs[0].Key), resp.Kvs[0].CreateRevision
}

// leaseOf is the lease that a key is attached to.
func leaseOf(t *testing.T, key string) clientv3.LeaseID {
	t.Helper()
	id, err := strconv.ParseInt(key[strings.LastIndexByte(key, '/')+1:], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return clientv3.LeaseID(id)
}
