package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// A Cluster is several etcd members inside the test process. Each is a Server
// with clients, links, Stop, Kill and Restart of its own. The cluster's own
// client and Admin know all of them and go on as long as a majority lives.
type Cluster struct {
	*Admin

	set     settings
	members []*Server
	conns   *clients
	client  *clientv3.Client

	mu       sync.Mutex
	isolated map[*Server]bool
}

// StartCluster runs n members, 3 or 5 as a rule, and returns when all of them
// serve, typically after 0.2 to 1.0 s for three: they hold a real election. The
// cleanup is as for Start.
func StartCluster(t testing.TB, n int, opts ...Option) *Cluster {
	t.Helper()
	if n < 2 {
		t.Fatalf("etcdtest: a cluster of %d: use Start", n)
	}
	dir := t.TempDir()
	for attempt := 1; ; attempt++ {
		c, err := newCluster(n, filepath.Join(dir, fmt.Sprint("c", attempt)), newToken(t), newSettings(opts))
		if err != nil {
			t.Fatal(err)
		}
		if err = c.start(t); err == nil {
			t.Cleanup(func() { c.close(t) })
			c.Leader(t)
			return c
		}
		c.end()
		if !portTaken(err) || attempt == 10 {
			t.Fatal(err)
		}
	}
}

// newCluster makes the members; they do not run yet.
func newCluster(n int, dir, token string, set settings) (*Cluster, error) {
	c := &Cluster{set: set, isolated: map[*Server]bool{}}
	var endpoints, peers []string
	for i := 1; i <= n; i++ {
		name := fmt.Sprint("m", i)
		s, err := newServer(name, filepath.Join(dir, name), token, set)
		if err != nil {
			c.end()
			return nil, err
		}
		c.members = append(c.members, s)
		s.members = n
		if err := s.seat.share(); err != nil {
			c.end()
			return nil, err
		}
		endpoints = append(endpoints, s.Endpoint())
		peers = append(peers, s.seat.member())
	}
	for _, s := range c.members {
		s.seat.members = strings.Join(peers, ",")
	}
	c.conns = newClients(endpoints...)
	c.Admin = &Admin{patience: set.patience, conns: c.conns}
	return c, nil
}

// start starts the members that do not run, at the same time.
func (c *Cluster) start(t testing.TB) error {
	errs := make([]error, len(c.members))
	c.each(func(i int, s *Server) {
		if !s.Running() {
			errs[i] = s.start(t)
			s.conns.connected()
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if c.client == nil {
		client, err := c.conns.open()
		if err != nil {
			return err
		}
		c.client = client
	}
	return nil
}

// each does something with all members at the same time.
func (c *Cluster) each(do func(i int, s *Server)) {
	var all sync.WaitGroup
	for i, s := range c.members {
		all.Go(func() { do(i, s) })
	}
	all.Wait()
}

// close is the cleanup of a cluster.
func (c *Cluster) close(t testing.TB) {
	c.conns.closeAll()
	for _, s := range c.members {
		s.conns.closeAll()
	}
	for _, s := range c.members {
		s.verifyIdle(t)
	}
	c.end()
}

// end stops everything without ceremony: all members cease first, so that none
// waits for another or holds an election.
func (c *Cluster) end() {
	c.each(func(_ int, s *Server) {
		if e := s.Etcd(); e != nil {
			e.Server.HardStop()
		}
	})
	c.each(func(_ int, s *Server) {
		s.Kill()
		s.seat.release()
	})
}

// Client returns the cluster's own client, which knows all members. Do not close it.
func (c *Cluster) Client() *clientv3.Client { return c.client }

// Endpoints returns the addresses of all members as clientv3.Config.Endpoints
// takes them.
func (c *Cluster) Endpoints() []string { return append([]string(nil), c.conns.endpoints...) }

// Members returns all members, running or not.
func (c *Cluster) Members() []*Server { return append([]*Server(nil), c.members...) }

// Restart starts the members that do not run, all at the same time, and returns
// when they serve. It is how a cluster comes back that has lost its majority.
func (c *Cluster) Restart(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), c.set.patience)
	defer cancel()
	for {
		err := c.start(t)
		if err == nil {
			c.Leader(t)
			return
		}
		if !portTaken(err) || !pause(ctx) {
			t.Fatal(err)
		}
	}
}

// Expire makes a lease end from the server's side, as Server.Expire does, on
// the leader.
func (c *Cluster) Expire(t testing.TB, id clientv3.LeaseID) {
	t.Helper()
	c.Leader(t).Expire(t, id)
}
