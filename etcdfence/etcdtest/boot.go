package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"
)

// A seat is what stays of a server between two runs: its name, its directory
// and its addresses.
type seat struct {
	name    string
	dir     string
	token   string // of the cluster; the cluster id is derived from it
	members string // all seats of the cluster, as "name=peerURL,..."
	client  port
	peer    port
	conns   *connTable
}

// newSeat reserves the addresses of a server.
func newSeat(name, dir, token string) (*seat, error) {
	client, err := reservePort()
	if err != nil {
		return nil, err
	}
	peer, err := reservePort()
	if err != nil {
		client.release()
		return nil, err
	}
	s := &seat{name: name, dir: dir, token: token, client: client, peer: peer, conns: newConnTable()}
	s.members = s.member()
	return s, nil
}

func (s *seat) member() string { u := s.peer.url(); return s.name + "=" + u.String() }

func (s *seat) release() {
	s.client.release()
	s.peer.release()
}

// A run is one life of a server: from start to stop.
type run struct {
	etcd   *embed.Etcd
	grpc   *grpc.Server
	served chan *grpc.Server
	endLog func()
}

// launch starts an etcd on the seat. It does not wait until it serves, because
// the members of a cluster need each other for that.
func (s *seat) launch(t testing.TB, set settings) (*run, error) {
	cfg := embed.NewConfig()
	log, endLog := newLogger(t, set.log)
	served := make(chan *grpc.Server, 1)

	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(log)
	cfg.LogLevel = "error"
	cfg.Name, cfg.Dir = s.name, s.dir
	cfg.InitialClusterToken, cfg.InitialCluster = s.token, s.members
	cfg.ListenClientUrls = []url.URL{s.client.url()}
	cfg.AdvertiseClientUrls = cfg.ListenClientUrls
	cfg.ListenPeerUrls = []url.URL{s.peer.url()}
	cfg.AdvertisePeerUrls = cfg.ListenPeerUrls
	cfg.SocketOpts.ReusePort = canHold
	cfg.EnableGRPCGateway = false // it would be one more client of our own
	cfg.UnsafeNoFsync = !set.fsync
	if set.fast {
		cfg.TickMs, cfg.ElectionMs = 50, 500
	}
	cfg.GRPCAdditionalServerOptions = append(cfg.GRPCAdditionalServerOptions, grpc.StatsHandler(s.conns))
	// etcd calls this when it is ready and about to serve. The handle is what
	// lets stop close connections at once: etcd's own Close waits for seconds
	// as long as a client watches.
	cfg.ServiceRegister = func(g *grpc.Server) { served <- g }
	for _, change := range set.tune {
		change(cfg)
	}

	e, err := embed.StartEtcd(cfg)
	if err != nil {
		endLog()
		return nil, fmt.Errorf("etcdtest: starting etcd %s: %w", s.name, err)
	}
	return &run{etcd: e, served: served, endLog: endLog}, nil
}

// serving waits until the server answers clients. If it does not, the run is over.
func (r *run) serving(ctx context.Context, alone bool) error {
	if alone {
		electing, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { defer close(done); r.campaign(electing) }()
		defer func() { stop(); <-done }()
	}
	select {
	case r.grpc = <-r.served:
		return nil
	case err := <-r.etcd.Err():
		r.stop()
		return fmt.Errorf("etcdtest: etcd ended while starting: %w", err)
	case <-ctx.Done():
		r.stop()
		return fmt.Errorf("etcdtest: etcd was not ready in time (has the cluster a majority?): %w", ctx.Err())
	}
}

// stop ends the run in order: connections first, then a leader hands over, then
// the files are closed. It returns when everything has ended.
func (r *run) stop() {
	if r.grpc != nil {
		r.grpc.Stop()
	}
	r.etcd.Close()
	r.endLog()
}

// kill ends the run without the handing over: other members learn of it from
// the silence. What was written to the files stays, as after kill -9.
func (r *run) kill() {
	if r.grpc != nil {
		r.grpc.Stop()
	}
	r.etcd.Server.HardStop()
	r.stop()
}

// portTaken says that somebody else listens on one of our addresses.
func portTaken(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "listen"
}
