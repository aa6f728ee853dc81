// Package localetcd runs a real etcd inside an example's own process: quiet, on a
// loopback port and in a temporary directory, ready in a fraction of a second. It is
// for the examples; tests have etcdfence/etcdtest, which can do much more.
package localetcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// Cluster is one or more etcd members in this process, or one that runs elsewhere.
type Cluster struct {
	dir       string
	members   []*embed.Etcd
	endpoints []string // of the members, in order
	clients   []*clientv3.Client
}

// Open returns the cluster at the given endpoints, separated by commas, or starts one
// of a single member if there are none.
func Open(ctx context.Context, endpoints string) (*Cluster, error) {
	if endpoints == "" {
		return Start(ctx, 1)
	}
	return &Cluster{endpoints: strings.Split(endpoints, ",")}, nil
}

// Start runs a cluster of n members and returns when all of them serve.
func Start(ctx context.Context, n int) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "etcdfence-example-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir}
	peers, err := peerURLs(n)
	if err != nil {
		c.Close()
		return nil, err
	}
	var all []string
	for i, peer := range peers {
		all = append(all, fmt.Sprintf("m%d=%s", i+1, peer.String()))
	}
	for i, peer := range peers {
		e, err := embed.StartEtcd(config(filepath.Join(dir, fmt.Sprint(i+1)), fmt.Sprintf("m%d", i+1), peer, all))
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("starting etcd: %w", err)
		}
		c.members = append(c.members, e)
	}
	for _, e := range c.members {
		select {
		case <-e.Server.ReadyNotify():
		case err = <-e.Err():
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("waiting for etcd: %w", err)
		}
		c.endpoints = append(c.endpoints, e.Clients[0].Addr().String())
	}
	return c, nil
}

func config(dir, name string, peer url.URL, all []string) *embed.Config {
	cfg := embed.NewConfig()
	cfg.Dir, cfg.Name = dir, name
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	cfg.LogLevel = "error"
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	client := url.URL{Scheme: "http", Host: "127.0.0.1:0"} // the system chooses the port
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.InitialCluster = strings.Join(all, ",")
	cfg.EnableGRPCGateway = false
	cfg.UnsafeNoFsync = true             // nothing here has to survive
	cfg.TickMs, cfg.ElectionMs = 20, 200 // all on one machine: elect quickly
	return cfg
}

// peerURLs returns n free loopback addresses. A lone member needs none that others
// could find, so it takes any.
func peerURLs(n int) ([]url.URL, error) {
	if n == 1 {
		return []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}, nil
	}
	var urls []url.URL
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // only when all are chosen, so that they differ
		urls = append(urls, url.URL{Scheme: "http", Host: l.Addr().String()})
	}
	return urls, nil
}

// Client returns a new client of one member, counted from 0, as a process of its own
// would have. It is closed with the cluster.
func (c *Cluster) Client(member int) (*clientv3.Client, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{c.endpoints[member]},
		DialTimeout: 5 * time.Second,
		Logger:      zap.NewNop(),
	})
	if err != nil {
		return nil, err
	}
	c.clients = append(c.clients, client)
	return client, nil
}

// ExpireOwner ends the lease behind a key, with all keys on it, as etcd does when the
// lease has run out: for whoever holds the key nothing else can be told apart.
func (c *Cluster) ExpireOwner(ctx context.Context, key string) error {
	client, err := c.Client(0)
	if err != nil {
		return err
	}
	resp, err := client.Get(ctx, key)
	if err != nil {
		return err
	}
	if len(resp.Kvs) == 0 {
		return fmt.Errorf("no key %q", key)
	}
	_, err = client.Revoke(ctx, clientv3.LeaseID(resp.Kvs[0].Lease))
	return err
}

// Close closes the clients, stops the members and removes their files.
func (c *Cluster) Close() error {
	var errs []error
	for _, client := range c.clients {
		errs = append(errs, client.Close())
	}
	var stopping sync.WaitGroup
	for _, e := range c.members {
		stopping.Go(func() {
			e.Server.HardStop() // nobody is left to hand anything over to
			e.Close()
		})
	}
	stopping.Wait()
	if c.dir != "" {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}
