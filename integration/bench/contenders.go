package main

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
)

const second = time.Second

// ttl of leases, in seconds: so long that no renewal is missed on a busy machine.
const ttl = 60

// adapter returns a new adapter on the client, closed with the measurement.
func (h *host) adapter(c *clientv3.Client) *etcdfence.Adapter {
	a, err := etcdfence.New(c, &etcdfence.Options{TTL: ttl * second})
	h.must(err)
	h.Cleanup(func() {
		if err := a.Close(); err != nil {
			h.Error(err)
		}
	})
	return a
}

// cycle is an acquisition and a release by an adapter.
func (h *host) cycle(a *etcdfence.Adapter, lock string) func() error {
	return func() error {
		hold, err := a.Lock(h.ctx, lock)
		if err != nil {
			return err
		}
		return hold.Release(h.ctx)
	}
}

// rawCycle is the same by etcd's own mutex, in a session of its own on the client.
func (h *host) rawCycle(c *clientv3.Client, lock string) func() error {
	session, err := concurrency.NewSession(c, concurrency.WithTTL(ttl))
	h.must(err)
	h.Cleanup(func() {
		if err := session.Close(); err != nil {
			h.Error(err)
		}
	})
	m := concurrency.NewMutex(session, lock)
	return func() error {
		if err := m.Lock(h.ctx); err != nil {
			return err
		}
		return m.Unlock(h.ctx)
	}
}

// bareCycle is the least that a lock can cost: put a key with a lease, delete it.
func (h *host) bareCycle(c *clientv3.Client, key string) func() error {
	resp, err := c.Grant(h.ctx, 10*ttl)
	h.must(err)
	return func() error {
		if _, err := c.Put(h.ctx, key, "", clientv3.WithLease(resp.ID)); err != nil {
			return err
		}
		_, err := c.Delete(h.ctx, key)
		return err
	}
}
