package demo

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// embedded is a real etcd in this process: silent, on a loopback port, with its files
// in the demonstration's own directory.
type embedded struct{ etcd *embed.Etcd }

func startEmbedded(ctx context.Context, dir string) (*embedded, error) {
	cfg := embed.NewConfig()
	cfg.Dir, cfg.Name = filepath.Join(dir, "etcd"), "demo"
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	cfg.LogLevel = "error"
	loopback := url.URL{Scheme: "http", Host: "127.0.0.1:0"} // the system chooses the port
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{loopback}, []url.URL{loopback}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{loopback}, []url.URL{loopback}
	cfg.InitialCluster = cfg.Name + "=" + loopback.String()
	cfg.EnableGRPCGateway = false
	cfg.UnsafeNoFsync = true             // nothing here has to survive
	cfg.TickMs, cfg.ElectionMs = 20, 200 // it votes alone; leases may be as short as 1 s
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("starting an etcd in this program: %w", err)
	}
	e := &embedded{etcd}
	select {
	case <-etcd.Server.ReadyNotify():
		return e, nil
	case err = <-etcd.Err():
		err = fmt.Errorf("the etcd in this program: %w", err)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	e.close()
	return nil, err
}

func (e *embedded) endpoint() string { return e.etcd.Clients[0].Addr().String() }

func (e *embedded) close() {
	e.etcd.Server.HardStop() // there is nobody to hand anything over to
	e.etcd.Close()
}
