package redistest

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/integration/internal/private"
)

// patience bounds everything that waits.
const patience = 30 * time.Second

// Cluster is a Redis Cluster of masters without replicas, each with its part of the slots.
type Cluster struct{ Nodes []*Server }

// StartCluster starts a cluster of n nodes, 3 as a rule, and returns when all of them know
// it, after a second or two. It ends with the test.
func StartCluster(t testing.TB, n int) *Cluster {
	t.Helper()
	ports, err := freePorts(2 * n)
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{}
	for i := range n {
		s := Start(t, atPort(ports[2*i]), private.WithSettings("cluster-enabled yes",
			"cluster-port "+strconv.Itoa(ports[2*i+1]), "cluster-node-timeout 5000"))
		s.addr = address(ports[2*i])
		c.Nodes = append(c.Nodes, s)
	}
	const slots = 16384
	for i, s := range c.Nodes {
		node := s.Client(t)
		first, last := i*slots/n, (i+1)*slots/n-1
		must(t, node.ClusterAddSlotsRange(t.Context(), first, last).Err())
		must(t, node.Do(t.Context(), "cluster", "set-config-epoch", i+1).Err())
		for j := range i { // each meets those before it
			must(t, node.Do(t.Context(), "cluster", "meet", "127.0.0.1", ports[2*j], ports[2*j+1]).Err())
		}
	}
	c.Await(t)
	return c
}

// Await waits until every node says that the cluster is whole.
func (c *Cluster) Await(t testing.TB) {
	t.Helper()
	for _, s := range c.Nodes {
		node := s.Client(t)
		await(t, "a whole cluster", func() bool {
			info, err := node.ClusterInfo(t.Context()).Result()
			f := facts(info)
			return err == nil && f["cluster_state"] == "ok" && f["cluster_known_nodes"] == fmt.Sprint(len(c.Nodes)) &&
				f["cluster_size"] == fmt.Sprint(len(c.Nodes))
		})
	}
}

// Options are those of a client of the cluster.
func (c *Cluster) Options() *redis.ClusterOptions {
	o := &redis.ClusterOptions{}
	for _, s := range c.Nodes {
		o.Addrs = append(o.Addrs, s.addr)
	}
	return o
}

// Client returns a client of the cluster that lasts as long as the test.
func (c *Cluster) Client(t testing.TB) *redis.ClusterClient {
	t.Helper()
	client := redis.NewClusterClient(c.Options())
	t.Cleanup(func() {
		if err := client.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			t.Error(err)
		}
	})
	return client
}

// Owner returns the node that has the key's slot.
func (c *Cluster) Owner(t testing.TB, key string) *Server {
	t.Helper()
	master, err := c.Client(t).MasterForKey(t.Context(), key)
	must(t, err)
	_, port := split(t, master.Options().Addr)
	for _, s := range c.Nodes {
		if _, p := split(t, s.addr); p == port {
			return s
		}
	}
	t.Fatalf("redistest: nobody has the slot of %q", key)
	return nil
}

// StartReplica starts a server that copies another one, which must have a port, and
// returns when it is up to date.
func StartReplica(t testing.TB, of *Server, opts ...Option) *Server {
	t.Helper()
	host, port := split(t, of.addr)
	must(t, of.Client(t).ConfigSet(t.Context(), "repl-diskless-sync-delay", "0").Err()) // no other one will come
	s := StartAtPort(t, append(opts, private.WithSettings("replicaof "+host+" "+port,
		"appendonly no"))...) // or it does not stop while it makes its first log
	replica := s.Client(t)
	await(t, "a replica that is up to date", func() bool {
		info, err := replica.Info(t.Context(), "replication").Result()
		return err == nil && facts(info)["master_link_status"] == "up"
	})
	return s
}

func split(t testing.TB, addr string) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	must(t, err)
	return host, port
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
}

func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for late := time.After(patience); !ok(); {
		select {
		case <-ticks.C:
		case <-late:
			t.Fatalf("redistest: there is no %s", what)
		}
	}
}
