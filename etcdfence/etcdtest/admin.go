package etcdtest

import (
	"context"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// An Admin is what an administrator does to the store while others use it, and
// how a test waits for what others did, without sleeping. Server, Cluster and
// Process embed one. It has a connection of its own: faults and links that the
// test put on its clients do not touch it.
//
// Every method fails the test t when the server does not answer, or when what
// it waits for does not happen within the patience (WithPatience, 20 s).
type Admin struct {
	patience time.Duration
	conns    *clients

	once sync.Once
	own  *clientv3.Client
	err  error
}

// begin returns the administrator's client and a context for one call.
func (a *Admin) begin(t testing.TB) (*clientv3.Client, context.Context, context.CancelFunc) {
	t.Helper()
	a.once.Do(func() { a.own, a.err = a.conns.open() })
	if a.err != nil {
		t.Fatal(a.err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.patience)
	return a.own, ctx, cancel
}

// persist repeats a write that met a server on its way down or up.
func persist(ctx context.Context, write func() error) error {
	for {
		err := write()
		if status.Code(err) != codes.Unavailable || !pause(ctx) {
			return err
		}
	}
}

// Put stores a value under a key.
func (a *Admin) Put(t testing.TB, key, value string) {
	t.Helper()
	c, ctx, cancel := a.begin(t)
	defer cancel()
	err := persist(ctx, func() error { _, err := c.Put(ctx, key, value); return err })
	if err != nil {
		t.Fatalf("etcdtest: put %q: %v", key, err)
	}
}

// DeleteKey deletes one key, as somebody with etcdctl does, and reports whether
// it was there. Its lease stays alive.
func (a *Admin) DeleteKey(t testing.TB, key string) (deleted bool) {
	t.Helper()
	c, ctx, cancel := a.begin(t)
	defer cancel()
	err := persist(ctx, func() error {
		resp, err := c.Delete(ctx, key)
		deleted = err == nil && resp.Deleted > 0
		return err
	})
	if err != nil {
		t.Fatalf("etcdtest: delete %q: %v", key, err)
	}
	return deleted
}

// Queue returns the keys under a prefix in the order in which they were
// created: for etcd's lock recipe the holder, then those who wait.
func (a *Admin) Queue(t testing.TB, prefix string) []string {
	t.Helper()
	c, ctx, cancel := a.begin(t)
	defer cancel()
	resp, err := c.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		t.Fatalf("etcdtest: keys under %q: %v", prefix, err)
	}
	keys := make([]string, len(resp.Kvs))
	for i, kv := range resp.Kvs {
		keys[i] = string(kv.Key)
	}
	return keys
}

// Revision returns the store's current revision.
func (a *Admin) Revision(t testing.TB) int64 {
	t.Helper()
	c, ctx, cancel := a.begin(t)
	defer cancel()
	resp, err := c.Get(ctx, "\x00")
	if err != nil {
		t.Fatalf("etcdtest: reading the revision: %v", err)
	}
	return resp.Header.Revision
}

// ClusterID returns the id of the cluster. It does not change when a data
// directory is rolled back, which is why a client cannot notice by it.
func (a *Admin) ClusterID(t testing.TB) uint64 {
	t.Helper()
	c, ctx, cancel := a.begin(t)
	defer cancel()
	resp, err := c.Get(ctx, "\x00")
	if err != nil {
		t.Fatalf("etcdtest: reading the cluster id: %v", err)
	}
	return resp.Header.ClusterId
}
