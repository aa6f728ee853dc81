package interop_test

import (
	"context"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3lock/v3lockpb"

	"github.com/etcdfence/etcdfence/etcdfence"
)

func newSession(t *testing.T, at site) *concurrency.Session {
	t.Helper()
	s, err := concurrency.NewSession(at.NewClient(t), concurrency.WithTTL(10))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a test may have revoked the lease
	return s
}

// mutex is a service that still uses etcd's own mutex, and mints its tokens with
// TokenOf: step one of a migration.
type mutex struct{ m *concurrency.Mutex }

func newMutex(t *testing.T, at site) contender {
	return &mutex{concurrency.NewMutex(newSession(t, at), rawName)}
}

func (r *mutex) lock(ctx context.Context) (int64, error) {
	if err := r.m.Lock(ctx); err != nil {
		return 0, err
	}
	token, err := etcdfence.TokenOf(r.m, name)
	return token.Revision(), err
}

func (r *mutex) unlock(ctx context.Context) error { return r.m.Unlock(ctx) }
func (r *mutex) try(ctx context.Context) error    { return r.m.TryLock(ctx) }

// election is a service that elects a leader on the same keys.
type election struct{ e *concurrency.Election }

func newElection(t *testing.T, at site) contender {
	return &election{concurrency.NewElection(newSession(t, at), rawName)}
}

func (r *election) lock(ctx context.Context) (int64, error) {
	if err := r.e.Campaign(ctx, "candidate"); err != nil {
		return 0, err
	}
	return r.e.Rev(), nil
}

func (r *election) unlock(ctx context.Context) error { return r.e.Resign(ctx) }

// service is a program in any language that uses the server's lock service. It is told
// a key, and has to ask for the revision.
type service struct {
	client *clientv3.Client
	rpc    v3lockpb.LockClient
	lease  clientv3.LeaseID
	key    []byte
}

func newService(t *testing.T, at site) contender {
	t.Helper()
	s := newSession(t, at)
	return &service{client: s.Client(), rpc: v3lockpb.NewLockClient(s.Client().ActiveConnection()), lease: s.Lease()}
}

func (r *service) lock(ctx context.Context) (int64, error) {
	answer, err := r.rpc.Lock(ctx, &v3lockpb.LockRequest{Name: []byte(rawName), Lease: int64(r.lease)})
	if err != nil {
		return 0, err
	}
	r.key = answer.Key
	resp, err := r.client.Get(ctx, string(r.key))
	if err != nil {
		return 0, err
	}
	if len(resp.Kvs) == 0 { // the service of 3.4 grants the lock to a waiter whose key is gone
		return 0, fmt.Errorf("the key %q is gone", r.key)
	}
	return resp.Kvs[0].CreateRevision, nil
}

func (r *service) unlock(ctx context.Context) error {
	_, err := r.rpc.Unlock(ctx, &v3lockpb.UnlockRequest{Key: r.key})
	return err
}
