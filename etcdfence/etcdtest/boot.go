package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"testing"
	"time"

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
	peers   *Link // what other members reach it through; nil for a server alone
	conns   *connTable
}

// newSeat reserves the addresses of a server that is alone.
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

// share makes the seat one of a cluster. The other members reach it through a
// link, which is there to break their connections when the member stops: etcd
// leaves some of them to a timeout of 5 s, and waits for others when it closes.
func (s *seat) share() (err error) {
	s.peers, err = newLink(s.peer.address())
	return err
}

// peerURL is where other members reach this one.
func (s *seat) peerURL() url.URL {
	if s.peers != nil {
		return url.URL{Scheme: "http", Host: s.peers.ln.Addr().String()}
	}
	return s.peer.url()
}

// member describes the seat as etcd's configuration of a cluster wants it.
func (s *seat) member() string { u := s.peerURL(); return s.name + "=" + u.String() }

// release gives the addresses back.
func (s *seat) release() {
	if s.peers != nil {
		s.peers.close()
	}
	s.client.release()
	s.peer.release()
}

// A run is one life of a server: from start to stop.
type run struct {
	etcd   *embed.Etcd
	grpc   *grpc.Server
	served chan *grpc.Server
	endLog func()
	peers  *Link // of the seat
	fresh  bool  // it has no history
}

// launch starts an etcd on the seat. It does not wait until it serves, because
// the members of a cluster need each other for that. One that is alone is the
// leader when launch returns.
func (s *seat) launch(t testing.TB, set settings, alone bool) (*run, error) {
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
	cfg.AdvertisePeerUrls = []url.URL{s.peerURL()}
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

	_, err := os.Stat(s.dir)
	r := &run{served: served, endLog: endLog, peers: s.peers, fresh: errors.Is(err, fs.ErrNotExist)}
	launching.Lock()
	defer launching.Unlock()
	if r.etcd, err = embed.StartEtcd(cfg); err != nil {
		endLog()
		return nil, fmt.Errorf("etcdtest: starting etcd %s: %w", s.name, err)
	}
	if alone {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Duration(cfg.ElectionMs)*time.Millisecond)
		defer cancel()
		r.campaign(ctx)
	}
	return r, nil
}

// serving waits until the server answers clients. If it does not, the run is over.
func (r *run) serving(ctx context.Context) error {
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
func (r *run) stop() { r.end(r.etcd.Server.Stop) }

// kill ends the run without the handing over: other members learn of it from
// the silence. What was written to the files stays, as after kill -9.
func (r *run) kill() { r.end(r.etcd.Server.HardStop) }

func (r *run) end(server func()) {
	if r.grpc != nil {
		r.grpc.Stop()
	}
	server()
	if r.peers != nil {
		r.peers.Sever()
	}
	r.etcd.Close()
	r.endLog()
}

// portTaken says that somebody else listens on one of our addresses.
func portTaken(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "listen"
}
