package etcdtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
)

// A ClientOption changes the configuration of a client that the kit makes.
type ClientOption func(*clientv3.Config)

// WithDialOption adds gRPC dial options, such as interceptors.
func WithDialOption(opts ...grpc.DialOption) ClientOption {
	return func(c *clientv3.Config) { c.DialOptions = append(c.DialOptions, opts...) }
}

// clients makes the clients of one server, cluster, process or link and closes
// them all at the end.
type clients struct {
	endpoints []string

	mu     sync.Mutex
	live   map[*clientv3.Client]bool
	closed bool
}

func newClients(endpoints ...string) *clients {
	return &clients{endpoints: endpoints, live: map[*clientv3.Client]bool{}}
}

// open makes a client. It does not wait for a connection.
func (cs *clients) open(opts ...ClientOption) (*clientv3.Client, error) {
	cfg := clientv3.Config{
		Endpoints: cs.endpoints,
		Logger:    zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			// The default waits 1 s before the first new attempt: too long
			// for a test that restarts a server.
			Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.5, Jitter: 0.2, MaxDelay: 250 * time.Millisecond},
			MinConnectTimeout: 20 * time.Second,
		})},
	}
	for _, opt := range opts {
		opt(&cfg)
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.closed {
		return nil, errors.New("etcdtest: a new client after the end of its server")
	}
	c, err := clientv3.New(cfg)
	if err != nil {
		return nil, err
	}
	cs.live[c] = true
	return c, nil
}

// client makes a client that ends with the test t.
func (cs *clients) client(t testing.TB, opts []ClientOption) *clientv3.Client {
	t.Helper()
	c, err := cs.open(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.close(c) })
	return c
}

func (cs *clients) close(c *clientv3.Client) {
	cs.mu.Lock()
	mine := cs.live[c]
	delete(cs.live, c)
	cs.mu.Unlock()
	if mine {
		c.Close() // reports the end of its own context: nothing to say
	}
}

// noticed waits until the clients whose connection was broken know it.
func (cs *clients) noticed() {
	cs.connections(func(ctx context.Context, conn *grpc.ClientConn) {
		conn.WaitForStateChange(ctx, connectivity.Ready)
	})
}

// connected waits until the clients that had a connection have one again.
func (cs *clients) connected() {
	cs.connections(func(ctx context.Context, conn *grpc.ClientConn) {
		for s := conn.GetState(); s != connectivity.Ready && s != connectivity.Idle; s = conn.GetState() {
			conn.ResetConnectBackoff()
			if !conn.WaitForStateChange(ctx, s) {
				return
			}
		}
	})
}

// connections does something with the connection of each client, for at most a
// few seconds: an option of a client may keep it from connecting.
func (cs *clients) connections(do func(context.Context, *grpc.ClientConn)) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.live {
		if conn := c.ActiveConnection(); conn.GetState() != connectivity.Idle {
			do(ctx, conn)
		}
	}
}

// closeAll closes what is open and lets nothing new be opened.
func (cs *clients) closeAll() {
	cs.mu.Lock()
	cs.closed = true
	all := cs.live
	cs.live = map[*clientv3.Client]bool{}
	cs.mu.Unlock()
	for c := range all {
		c.Close()
	}
}

// NewClient returns a client with a connection of its own, closed when the test
// t ends. Closing it earlier is fine. It logs nothing and connects again within
// 20 to 250 ms after a server came back (clientv3's default starts at 1 s);
// options change both.
func (a *Admin) NewClient(t testing.TB, opts ...ClientOption) *clientv3.Client {
	t.Helper()
	return a.conns.client(t, opts)
}
