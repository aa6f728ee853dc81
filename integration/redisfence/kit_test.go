package redisfence_test

import (
	"context"
	"errors"
	"fmt"
	"net"
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
	fencetest.Run(t, newClusterHouse(t).killable)
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
	proxy   func(key string) *redistest.Proxy
	keys    atomic.Int64
	wrap    func(*redisfence.Resource, *subject) fence.FencedResource[*redisfence.Tx] // for mutants
}

func newHouse(t *testing.T) *house {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server)
	return &house{proxy: func(string) *redistest.Proxy { return proxy },
		connect: func() redis.UniversalClient { return redis.NewClient(proxy.Options()) },
		kill:    func(string) error { return server.KillAndRestart() }}
}

func newClusterHouse(t *testing.T) *house {
	cluster := redistest.StartCluster(t, 3)
	proxies := map[string]*redistest.Proxy{} // by the address of the node
	for _, node := range cluster.Nodes {
		proxies[node.Addr()] = redistest.NewProxy(t, node)
	}
	opts := cluster.Options()
	opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, proxies[addr].Addr())
	}
	return &house{
		proxy:   func(key string) *redistest.Proxy { return proxies[cluster.Owner(t, key).Addr()] },
		connect: func() redis.UniversalClient { return redis.NewClusterClient(opts) },
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

// killable is a subject whose server can be killed, and its answers lost.
type killable struct{ *subject }

func (h *house) killable(ctx context.Context) (fencetest.Subject[*redisfence.Tx], error) {
	s, err := h.tenant(ctx)
	return killable{s}, err
}

func (s killable) Crash(context.Context) error { return s.kill(s.tag) }
func (s killable) Lose(context.Context) error  { s.proxy(s.tag).Lose(1, "evalsha"); return nil }

func (s *subject) Resource() fence.FencedResource[*redisfence.Tx] { return s.wrapped(s.resource) }
func (s *subject) Lock() string                                   { return lock }
func (s *subject) Operations()                                    {}

func (s *subject) Write(ctx context.Context, tx *redisfence.Tx, value string) error {
	if wrote, ok := ctx.Value(wroteKey{}).(*string); ok {
		*wrote = value
		return nil
	}
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

// The mistake that the script is there against: read, judge, write.
func TestKitFailsReadThenWrite(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.wrap = func(r *redisfence.Resource, s *subject) fence.FencedResource[*redisfence.Tx] {
		return &readThenWrite{r, s}
	}
	found := 0
	if joined, ok := fencetest.Check(t.Context(), h.subject).(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if v := (*fencetest.Violation)(nil); errors.As(e, &v) && (v.Rule == "R1" || v.Rule == "R7") {
				t.Logf("found by %s/%s: %s", v.Rule, v.Case, v.Detail)
				found++
			}
		}
	}
	if found == 0 {
		t.Fatal("the kit did not notice")
	}
}

// wroteKey is of the text that a change wants to write, for the liar.
type wroteKey struct{}

type readThenWrite struct {
	*redisfence.Resource
	s *subject
}

func (r *readThenWrite) Apply(ctx context.Context, s fence.Stamp, change change) error {
	mark, err := r.Mark(ctx, lock)
	if err != nil {
		return err
	}
	if err := fence.Judge(lock, mark, s); err != nil {
		return err
	}
	var wrote string
	if err := change(context.WithValue(ctx, wroteKey{}, &wrote), nil); err != nil {
		return err
	}
	t := s.Token()
	text := fmt.Sprintf("etcdfence 1\n%d %d %d\n%s\n%s\n0\n\n", t.Epoch(), t.Revision(), s.Sequence(), t.Owner(), t.Lock())
	_, err = r.s.clients[0].TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, r.s.tag+":fence", text, 0)
		p.Set(ctx, r.s.tag+":data", wrote, 0)
		return nil
	})
	return err
}
