package queue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func sortAll(locks []Lock) {
	slices.SortFunc(locks, func(a, b Lock) int { return cmp.Compare(a.Name, b.Name) })
	for _, l := range locks {
		slices.SortFunc(l.Entries, func(a, b Entry) int { return cmp.Compare(a.Revision, b.Revision) })
	}
}

// leases asks for the time that each lease has left. Many entries share one.
func leases(ctx context.Context, client *clientv3.Client, locks []Lock) error {
	known := map[clientv3.LeaseID]*clientv3.LeaseTimeToLiveResponse{}
	for _, l := range locks {
		for i := range l.Entries {
			e := &l.Entries[i]
			resp, ok := known[e.Lease]
			if !ok {
				var err error
				resp, err = client.TimeToLive(ctx, e.Lease)
				switch {
				case errors.Is(err, rpctypes.ErrLeaseNotFound):
					resp = &clientv3.LeaseTimeToLiveResponse{}
				case err != nil:
					return err
				}
				known[e.Lease] = resp
			}
			if resp.TTL > 0 { // -1: it is gone, and its keys go with it
				e.Granted = time.Duration(resp.GrantedTTL) * time.Second
				e.Left = time.Duration(resp.TTL) * time.Second
			}
		}
	}
	return nil
}
