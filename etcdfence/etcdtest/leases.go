package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/lease"
)

// Revoke revokes a lease as a client does, and returns when it is gone with its
// keys. A lease that does not exist fails the test.
func (a *Admin) Revoke(t testing.TB, id clientv3.LeaseID) {
	t.Helper()
	c, ctx, cancel := a.begin(t)
	defer cancel()
	if err := persist(ctx, func() error { _, err := c.Revoke(ctx, id); return err }); err != nil {
		t.Fatalf("etcdtest: revoking lease %x: %v", int64(id), err)
	}
}

// WaitExpired returns when a lease is gone because its time is over (or because
// it was revoked). Nothing makes that happen earlier: cut the Link of whoever
// renews it, and have a patience longer than the TTL. etcd has no event for the
// end of a lease, so this asks every few milliseconds; WaitGone on one of its
// keys waits for the event itself.
func (a *Admin) WaitExpired(t testing.TB, id clientv3.LeaseID) {
	t.Helper()
	c, ctx, cancel := a.begin(t)
	defer cancel()
	for {
		resp, err := c.TimeToLive(ctx, id)
		if err == nil && resp.TTL <= 0 && resp.GrantedTTL == 0 {
			return
		}
		if err != nil && ctx.Err() == nil {
			t.Fatalf("etcdtest: asking for lease %x: %v", int64(id), err)
		}
		if !pause(ctx) {
			t.Fatalf("etcdtest: lease %x still lives after %v", int64(id), a.patience)
		}
	}
}

// Leases returns the ids of all leases that exist.
func (a *Admin) Leases(t testing.TB) []clientv3.LeaseID {
	t.Helper()
	c, ctx, cancel := a.begin(t)
	defer cancel()
	ids, err := leases(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func leases(ctx context.Context, c *clientv3.Client) ([]clientv3.LeaseID, error) {
	resp, err := c.Leases(ctx)
	if err != nil {
		return nil, fmt.Errorf("etcdtest: listing the leases: %w", err)
	}
	ids := make([]clientv3.LeaseID, len(resp.Leases))
	for i, l := range resp.Leases {
		ids[i] = l.ID
	}
	return ids, nil
}

// Expire makes a lease end now, from the server's side, and returns when it is
// gone with its keys. It is the very call that etcd's own expiry makes when a
// TTL is over: the same entry in the log, the same delete events, and the owner
// learns of it in the same way. The only difference to a lease that runs out is
// that its TTL was not over yet, so a renewal which is on its way is answered
// "no such lease" at once, where it would wait for the revocation. etcd offers
// no way to turn a lease's clock; a test that is about the clock itself has to
// let it run: cut the Link of the owner and call WaitGone.
func (s *Server) Expire(t testing.TB, id clientv3.LeaseID) {
	t.Helper()
	e := s.Etcd()
	if e == nil {
		t.Fatalf("etcdtest: lease %x cannot expire: server %s is stopped", int64(id), s.Name())
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.set.patience)
	defer cancel()
	_, err := e.Server.LeaseRevoke(ctx, &etcdserverpb.LeaseRevokeRequest{ID: int64(id)})
	switch {
	case errors.Is(err, lease.ErrLeaseNotFound), errors.Is(err, rpctypes.ErrLeaseNotFound):
		t.Fatalf("etcdtest: lease %x cannot expire: there is no such lease", int64(id))
	case err != nil:
		t.Fatalf("etcdtest: expiring lease %x: %v", int64(id), err)
	}
}

// pause waits a few milliseconds; false means that ctx has ended.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(5 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
