package etcdtest

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
)

// A Server is a real etcd inside the test process, with its own directory and
// its own loopback address. Start makes one, StartCluster several. The address
// stays the same through Stop, Kill, Restart and RollBack.
//
// It embeds an Admin: the hands of an administrator, such as Revoke, DeleteKey,
// WaitGone and WaitQueued, on a connection that no fault of the test touches.
//
// All methods may be called from several goroutines. Those that can fail take
// the t of the test that calls them and fail it.
type Server struct {
	*Admin

	set     settings
	seat    *seat
	members int // of the cluster; 1 for a server alone
	conns   *clients
	client  *clientv3.Client

	mu  sync.Mutex // guards run, and is held while the server starts or stops
	run *run       // nil while stopped
}

// Start runs an etcd for the test t and returns when it serves, typically after
// 10 to 30 ms: it has etcd's own timing, yet stands for election at once instead
// of waiting for leaders that cannot exist. The test's cleanup closes every
// client that the kit made, verifies that no other client is still connected
// (see WithOpenClients), stops the server and removes its files.
//
// Call Start before the code under test makes clients, so that cleanups, which
// run in reverse order, close those first.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	set := newSettings(opts)
	dir := t.TempDir()
	for attempt := 1; ; attempt++ {
		s, err := newServer("m1", filepath.Join(dir, "m1"), newToken(t), set)
		if err != nil {
			t.Fatal(err)
		}
		if err = s.start(t); err == nil {
			t.Cleanup(func() { s.close(t) })
			return s
		}
		s.seat.release()
		if !portTaken(err) || attempt == 10 {
			t.Fatal(err)
		}
	}
}

// newToken names a cluster, so that two servers of the kit never share a cluster id.
func newToken(t testing.TB) string { return t.Name() + " " + rand.Text() }

// newServer makes a server that does not run yet.
func newServer(name, dir, token string, set settings) (*Server, error) {
	seat, err := newSeat(name, dir, token)
	if err != nil {
		return nil, err
	}
	s := &Server{set: set, seat: seat, members: 1}
	s.conns = newClients(s.Endpoint())
	s.Admin = &Admin{patience: set.patience, conns: s.conns}
	return s, nil
}

// start launches the server and waits until it serves.
func (s *Server) start(t testing.TB) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.seat.launch(t, s.set, s.members == 1)
	if err != nil {
		return err
	}
	return s.adopt(r)
}

// adopt waits for a launched run and makes it the server's. Needs s.mu.
func (s *Server) adopt(r *run) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.set.patience)
	defer cancel()
	if err := r.serving(ctx); err != nil {
		return err
	}
	s.run = r
	if s.client == nil {
		c, err := s.conns.open()
		if err != nil {
			return err
		}
		s.client = c
	}
	return nil
}

// close is the cleanup of a server.
func (s *Server) close(t testing.TB) {
	s.conns.closeAll()
	s.verifyIdle(t)
	s.Stop()
	s.seat.release()
}

// verifyIdle fails the test if a client of somebody else is still connected.
// In a test that has failed already it would only hide the reason.
func (s *Server) verifyIdle(t testing.TB) {
	if s.Running() && !s.set.keepConns && !t.Failed() {
		s.seat.conns.verifyIdle(t, s.seat.name, min(s.set.patience, 5*time.Second))
	}
}

// Client returns the server's own client, made at start and closed by the kit.
// Do not close it. Code under test that would share more than the connection
// with others (leases, watches, fronts) deserves a NewClient.
func (s *Server) Client() *clientv3.Client { return s.client }

// Endpoint returns the server's address as clientv3.Config.Endpoints takes it,
// "http://127.0.0.1:port".
func (s *Server) Endpoint() string { u := s.seat.client.url(); return u.String() }

// Address returns the server's address as host:port.
func (s *Server) Address() string { return s.seat.client.address() }

// Name returns the member's name: "m1" for a server alone.
func (s *Server) Name() string { return s.seat.name }

// Dir returns the data directory. It changes under the server's hands while it runs.
func (s *Server) Dir() string { return s.seat.dir }

// Running reports whether the server has been started and not stopped since.
func (s *Server) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run != nil
}

// Etcd returns the embedded etcd of the current run, nil while stopped. It is
// for what the kit does not offer; a Restart makes another one.
func (s *Server) Etcd() *embed.Etcd {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return nil
	}
	return s.run.etcd
}
