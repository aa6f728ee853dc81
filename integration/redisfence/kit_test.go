package redisfence_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
	"github.com/etcdfence/etcdfence/fence/redisfence"
	"github.com/etcdfence/etcdfence/integration/kit"
	"github.com/etcdfence/etcdfence/integration/redistest"
)

// The conformance kit, with every power, on one server that some cases kill, behind a proxy
// that loses answers.
func TestKit(t *testing.T) {
	t.Parallel()
	fencetest.Run(t, newHouse(t).killable)
}

// On a cluster, of which some cases kill the node that has the keys.
func TestKitCluster(t *testing.T) {
	t.Parallel()
	fencetest.Run(t, newClusterHouse(t).crashable)
}

func TestLinearizable(t *testing.T) {
	t.Parallel()
	t.Run("alone", func(t *testing.T) { kit.Linearizable(t, newHouse(t).subject) })
	t.Run("cluster", func(t *testing.T) { kit.Linearizable(t, newClusterHouse(t).subject) })
}

func TestSequences(t *testing.T) {
	t.Parallel()
	kit.Sequences(t, newHouse(t).subject)
}

// house is a Redis in which every subject has keys of its own.
type house struct {
	connect func() redis.UniversalClient
	kill    func(key string) error // and restart
	proxy   *redistest.Proxy
	keys    atomic.Int64
	wrap    func(*redisfence.Resource, *subject) fence.FencedResource[*redisfence.Tx] // for mutants
}

func newHouse(t *testing.T) *house {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server)
	return &house{proxy: proxy,
		connect: func() redis.UniversalClient { return redis.NewClient(proxy.Options()) },
		kill:    func(string) error { return server.KillAndRestart() }}
}

func newClusterHouse(t *testing.T) *house {
	cluster := redistest.StartCluster(t, 3)
	return &house{
		connect: func() redis.UniversalClient { return redis.NewClusterClient(cluster.Options()) },
		kill: func(key string) error {
			if err := cluster.Owner(t, key).KillAndRestart(); err != nil {
				return err
			}
			cluster.Await(t)
			return nil
		}}
}

type subject struct {
	*house
	tag      string
	clients  []redis.UniversalClient // the last one is in use
	resource *redisfence.Resource
}

func (h *house) subject(ctx context.Context) (fencetest.Subject[*redisfence.Tx], error) {
	return h.tenant(ctx)
}

func (h *house) tenant(ctx context.Context) (*subject, error) {
	s := &subject{house: h, tag: fmt.Sprintf("{orders/%d}", h.keys.Add(1))}
	return s, s.Reopen(ctx)
}

// crashable is a subject whose server can be killed.
type crashable struct{ *subject }

func (h *house) crashable(ctx context.Context) (fencetest.Subject[*redisfence.Tx], error) {
	s, err := h.tenant(ctx)
	return crashable{s}, err
}

func (s crashable) Crash(context.Context) error { return s.kill(s.tag) }

// killable is one whose answers can be lost too.
type killable struct{ crashable }

func (h *house) killable(ctx context.Context) (fencetest.Subject[*redisfence.Tx], error) {
	s, err := h.tenant(ctx)
	return killable{crashable{s}}, err
}

func (s killable) Lose(context.Context) error { s.proxy.Lose(1, "evalsha"); return nil }

func (s *subject) Resource() fence.FencedResource[*redisfence.Tx] { return s.wrapped(s.resource) }
func (s *subject) Lock() string                                   { return lock }
func (s *subject) Operations()                                    {}

func (s *subject) Write(_ context.Context, tx *redisfence.Tx, value string) error {
	tx.Set(s.tag+":data", value)
	return nil
}

func (s *subject) Read(ctx context.Context) (string, error) {
	value, err := s.clients[len(s.clients)-1].Get(ctx, s.tag+":data").Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return value, err
}

func (s *subject) Close() (err error) {
	for _, c := range s.clients {
		err = errors.Join(err, c.Close())
	}
	return err
}

func (s *subject) Reopen(ctx context.Context) (err error) {
	s.resource, err = s.another(ctx, nil)
	return err
}

func (s *subject) Share(ctx context.Context) (fence.FencedResource[*redisfence.Tx], error) {
	r, err := s.another(ctx, nil)
	return s.wrapped(r), err
}

func (s *subject) AnyOrder(ctx context.Context) (fence.FencedResource[*redisfence.Tx], error) {
	return s.another(ctx, &redisfence.Options{AnyOrder: true})
}

// another is the same keys through a client of its own.
func (s *subject) another(ctx context.Context, opts *redisfence.Options) (*redisfence.Resource, error) {
	client := s.connect()
	s.clients = append(s.clients, client)
	return redisfence.Open(ctx, client, s.tag+":fence", s.Lock(), opts)
}

func (s *subject) wrapped(r *redisfence.Resource) fence.FencedResource[*redisfence.Tx] {
	if s.wrap != nil {
		return s.wrap(r, s)
	}
	return r
}
