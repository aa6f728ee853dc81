package natstest

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// patience bounds everything that waits.
const patience = 20 * time.Second

// Option changes how a server runs.
type Option func(*settings)

type settings struct {
	Dir  string
	Port int
	Sync bool
}

// WithSync makes every write wait for the disk. JetStream does it every two minutes by
// default, so that a loss of power loses what came since; a killed process loses nothing.
func WithSync() Option { return func(s *settings) { s.Sync = true } }

func (s settings) options() *server.Options {
	return &server.Options{Host: "127.0.0.1", Port: cmp.Or(s.Port, server.RANDOM_PORT), ServerName: "natstest",
		JetStream: true, StoreDir: s.Dir, SyncAlways: s.Sync, NoLog: true, NoSigs: true,
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 1 << 30}
}

// run starts a server in this process.
func run(o *server.Options) (*server.Server, error) {
	s, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("natstest: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		s.Shutdown()
		return nil, errors.New("natstest: the server does not accept connections")
	}
	return s, nil
}

// Server is a real nats-server with JetStream inside the test process.
type Server struct {
	node
	set     settings
	running *server.Server
}

// Start runs a server, in milliseconds, on a directory and a port of its own, and stops it
// when the test t ends.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s := &Server{set: settings{Dir: t.TempDir()}}
	for _, o := range opts {
		o(&s.set)
	}
	t.Cleanup(s.Stop)
	s.Restart(t)
	return s
}

// Restart stops the server if it runs and starts it again, with the same data at the same
// address.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop()
	running, err := run(s.set.options())
	if err != nil {
		t.Fatal(err)
	}
	s.running, s.url = running, running.ClientURL()
	s.set.Port = running.Addr().(*net.TCPAddr).Port
}

// Stop ends the server in order. Stopping a stopped one does nothing.
func (s *Server) Stop() {
	if s.running != nil {
		s.running.Shutdown()
		s.running.WaitForShutdown()
		s.running = nil
	}
}

// node is what all kinds of server have in common.
type node struct{ url string }

// URL returns the address as [nats.Connect] takes it. It stays the same.
func (n *node) URL() string { return n.url }

// Connect returns a connection that lasts as long as the test t and connects again, as
// often as needed and within milliseconds, when the server comes back.
func (n *node) Connect(t testing.TB, opts ...nats.Option) *nats.Conn {
	return connect(t, n.url, opts...)
}

// JetStream is Connect for those who need no more.
func (n *node) JetStream(t testing.TB, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(n.Connect(t, opts...))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func connect(t testing.TB, url string, opts ...nats.Option) *nats.Conn {
	t.Helper()
	again := []nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(10 * time.Millisecond), nats.ReconnectJitter(0, 0)}
	closed := make(chan struct{})
	nc, err := nats.Connect(url, append(append(again, opts...), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))...)
	if err != nil {
		t.Fatalf("natstest: %v", err)
	}
	t.Cleanup(func() {
		nc.Close()
		<-closed // its goroutines end with it
	})
	return nc
}

// Bucket makes a key-value bucket with one replica.
func Bucket(t testing.TB, js jetstream.JetStream, name string) jetstream.KeyValue {
	t.Helper()
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: name})
	if err != nil {
		t.Fatalf("natstest: %v", err)
	}
	return kv
}
