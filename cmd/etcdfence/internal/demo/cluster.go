package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/etcdctl"
)

// prefix of all keys that the demonstration makes; behind it comes the run's own name.
const prefix = "/etcdfence-demo/"

const lockName = "demo"

// cluster is the director's own view of etcd.
type cluster struct {
	client *clientv3.Client
	spec   *clientv3.ConfigSpec
	prefix string
	own    *embedded // nil if the cluster is somebody's
}

// openCluster uses the etcd that spec names, or starts one if there is none.
func openCluster(ctx context.Context, spec *clientv3.ConfigSpec, dir, run string) (*cluster, error) {
	c := &cluster{spec: spec, prefix: prefix + run}
	if spec == nil {
		own, err := startEmbedded(ctx, dir)
		if err != nil {
			return nil, err
		}
		c.own = own
		c.spec = &clientv3.ConfigSpec{Endpoints: []string{own.endpoint()}, DialTimeout: 5 * time.Second, RequestTimeout: 5 * time.Second}
	}
	client, err := etcdctl.Connect(ctx, c.spec, c.prefix+"/")
	if err != nil {
		if c.own != nil {
			c.own.close()
		}
		return nil, err
	}
	c.client = client
	return c, nil
}

// gone waits until etcd has removed a key that it had at the given revision.
func (c *cluster) gone(ctx context.Context, key string, revision int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for answer := range c.client.Watch(ctx, key, clientv3.WithRev(revision+1), clientv3.WithFilterPut()) {
		if err := answer.Err(); err != nil {
			return fmt.Errorf("watching the key of the lock: %w", err)
		}
		if len(answer.Events) > 0 {
			return nil
		}
	}
	return fmt.Errorf("waiting for the lease to run out: %w", context.Cause(ctx))
}

// close removes what killed workers have left in a cluster of somebody else's, and
// ends our own.
func (c *cluster) close(ctx context.Context) error {
	var err error
	if c.own == nil {
		err = c.clean(ctx)
	}
	err = errors.Join(err, c.client.Close())
	if c.own != nil {
		c.own.close()
	}
	return err
}

// clean revokes the leases of all keys that are left, which removes the keys.
func (c *cluster) clean(ctx context.Context) error {
	// Not WithKeysOnly: etcd 3.7 then leaves out the lease too.
	left, err := c.client.Get(ctx, c.prefix+"/", clientv3.WithPrefix())
	if err != nil {
		return fmt.Errorf("looking for keys below %s: %w", c.prefix, err)
	}
	for _, kv := range left.Kvs {
		if _, err := c.client.Revoke(ctx, clientv3.LeaseID(kv.Lease)); err == nil {
			continue
		}
		if _, err := c.client.Delete(ctx, string(kv.Key)); err != nil {
			return fmt.Errorf("the key %s may be left: %w", kv.Key, err)
		}
	}
	return nil
}
