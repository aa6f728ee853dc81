package natstest

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Cluster is several servers inside the test process that replicate streams.
type Cluster struct {
	node    // of all members
	members []*server.Server
	options []*server.Options
}

// StartCluster runs n servers, 3 as a rule, and returns when they have a leader and know
// each other, after about a second. They stop when the test t ends.
func StartCluster(t testing.TB, n int) *Cluster {
	t.Helper()
	c := &Cluster{}
	t.Cleanup(func() {
		for _, m := range c.members {
			m.Shutdown()
		}
		for _, m := range c.members {
			m.WaitForShutdown()
		}
	})
	ports, err := freePorts(n)
	if err != nil {
		t.Fatalf("natstest: %v", err)
	}
	var routes []*url.URL
	for _, port := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	var urls []string
	for i := range n {
		o := settings{Dir: t.TempDir()}.options()
		o.ServerName = fmt.Sprintf("n%d", i+1)
		o.Cluster = server.ClusterOpts{Name: "natstest", Host: "127.0.0.1", Port: ports[i]}
		o.Routes = routes
		m, err := run(o)
		if err != nil {
			t.Fatal(err)
		}
		c.members, c.options, urls = append(c.members, m), append(c.options, o), append(urls, m.ClientURL())
	}
	c.url = strings.Join(urls, ",")
	c.until(t, "a leader that knows all members", func() bool {
		for _, m := range c.members {
			if m.JetStreamIsLeader() && len(m.JetStreamClusterPeers()) == n {
				return true
			}
		}
		return false
	})
	return c
}

// Bucket makes a bucket with a replica on each member.
func (c *Cluster) Bucket(t testing.TB, js jetstream.JetStream, name string) jetstream.KeyValue {
	t.Helper()
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: name, Replicas: len(c.members)})
	if err != nil {
		t.Fatalf("natstest: %v", err)
	}
	return kv
}

// StopLeader stops the member that leads the bucket's stream and returns a function that
// starts it again. It returns when another member leads.
func (c *Cluster) StopLeader(t testing.TB, bucket string) (restart func()) {
	t.Helper()
	for i, m := range c.members {
		if !m.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, "KV_"+bucket) {
			continue
		}
		port := m.Addr().(*net.TCPAddr).Port
		m.Shutdown()
		m.WaitForShutdown()
		c.until(t, "another leader", func() bool { return c.leads(bucket, i) })
		return func() {
			c.options[i].Port = port
			again, err := run(c.options[i])
			if err != nil {
				t.Fatal(err)
			}
			c.members[i] = again
		}
	}
	t.Fatalf("natstest: no member leads the bucket %q", bucket)
	return nil
}

// leads reports whether a member other than the one left out leads the bucket's stream.
func (c *Cluster) leads(bucket string, without int) bool {
	for i, m := range c.members {
		if i != without && m.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, "KV_"+bucket) {
			return true
		}
	}
	return false
}

// ConnectTo returns a connection to one member only, for as long as it lives.
func (c *Cluster) ConnectTo(t testing.TB, member int, opts ...nats.Option) *nats.Conn {
	t.Helper()
	return connect(t, c.members[member].ClientURL(), append(opts, nats.DontRandomize())...)
}

func (c *Cluster) until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for late := time.After(patience); !ok(); {
		select {
		case <-ticks.C:
		case <-late:
			t.Fatalf("natstest: the cluster does not have %s", what)
		}
	}
}

// freePorts are ports that were free a moment ago.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
