package natsfence_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
	"github.com/etcdfence/etcdfence/fence/natsfence"
	"github.com/etcdfence/etcdfence/integration/kit"
	"github.com/etcdfence/etcdfence/integration/natstest"
)

// The conformance kit, with every power, on one server that some cases kill, behind a
// proxy that loses answers.
func TestKit(t *testing.T) {
	t.Parallel()
	fencetest.Run(t, newHouse(t).killable)
}

// On a replicated stream, where a lost comparison has another code and any member may
// answer a read. No server is killed there.
func TestKitReplicated(t *testing.T) {
	t.Parallel()
	fencetest.Run(t, newReplicated(t).subject)
}

func TestLinearizable(t *testing.T) {
	t.Parallel()
	t.Run("alone", func(t *testing.T) { kit.Linearizable(t, newHouse(t).subject) })
	t.Run("replicated", func(t *testing.T) { kit.Linearizable(t, newReplicated(t).subject) })
}

func TestSequences(t *testing.T) {
	t.Parallel()
	kit.Sequences(t, newHouse(t).subject)
}

// house is a bucket in which every subject has a key of its own.
type house struct {
	connect func() (*nats.Conn, error)
	kill    func() // and restart
	proxy   *natstest.Proxy
	bucket  string
	keys    atomic.Int64
	wrap    func(*natsfence.Resource, *subject) fence.FencedResource[*natsfence.Tx] // for mutants
}

const requestTimeout = time.Second

var quick = []nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(10 * time.Millisecond), nats.ReconnectJitter(0, 0)}

func newHouse(t *testing.T) *house {
	server := natstest.StartProcess(t)
	h := &house{bucket: "kit", proxy: natstest.NewProxy(t, server.URL()), kill: func() { server.Kill(); server.Restart(t) }}
	natstest.Bucket(t, server.JetStream(t), h.bucket)
	h.connect = func() (*nats.Conn, error) { return nats.Connect(h.proxy.URL(), quick...) }
	return h
}

func newReplicated(t *testing.T) *house {
	cluster := natstest.StartCluster(t, 3)
	h := &house{bucket: "kit"}
	cluster.Bucket(t, cluster.JetStream(t), h.bucket)
	h.connect = func() (*nats.Conn, error) { return nats.Connect(cluster.URL(), quick...) } // one of the three
	return h
}

type subject struct {
	*house
	key      string
	conns    []*nats.Conn // the last one is in use
	resource *natsfence.Resource
}

func (h *house) subject(ctx context.Context) (fencetest.Subject[*natsfence.Tx], error) {
	return h.tenant(ctx)
}

func (h *house) tenant(ctx context.Context) (*subject, error) {
	s := &subject{house: h, key: fmt.Sprintf("orders.%d", h.keys.Add(1))}
	return s, s.Reopen(ctx)
}

// killable is a subject whose server can be killed, and its answers lost.
type killable struct{ *subject }

func (h *house) killable(ctx context.Context) (fencetest.Subject[*natsfence.Tx], error) {
	s, err := h.tenant(ctx)
	return killable{s}, err
}

func (s killable) Crash(ctx context.Context) error {
	s.kill()
	// The kit expects a resource that works: let the connection come back first.
	return s.conns[len(s.conns)-1].FlushWithContext(ctx)
}

func (s killable) Lose(context.Context) error { s.proxy.Lose(1); return nil }

func (s *subject) Resource() fence.FencedResource[*natsfence.Tx] { return s.wrapped(s.resource) }
func (s *subject) Lock() string                                  { return "orders/42" }
func (s *subject) Operations()                                   {}

func (s *subject) Write(_ context.Context, tx *natsfence.Tx, value string) error {
	tx.SetBody([]byte(value))
	return nil
}

func (s *subject) Read(ctx context.Context) (string, error) {
	body, err := s.resource.Body(ctx)
	return string(body), err
}

func (s *subject) Close() error {
	for _, nc := range s.conns {
		nc.Close()
	}
	return nil
}

func (s *subject) Reopen(ctx context.Context) (err error) {
	s.resource, err = s.another(ctx, nil)
	return err
}

func (s *subject) Share(ctx context.Context) (fence.FencedResource[*natsfence.Tx], error) {
	r, err := s.another(ctx, nil)
	return s.wrapped(r), err
}

func (s *subject) AnyOrder(ctx context.Context) (fence.FencedResource[*natsfence.Tx], error) {
	return s.another(ctx, &natsfence.Options{AnyOrder: true})
}

// another is the same key through a connection of its own.
func (s *subject) another(ctx context.Context, opts *natsfence.Options) (*natsfence.Resource, error) {
	nc, err := s.connect()
	if err != nil {
		return nil, err
	}
	s.conns = append(s.conns, nc)
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	if opts == nil {
		opts = &natsfence.Options{}
	}
	opts.Timeout = requestTimeout
	return natsfence.Open(ctx, js, s.bucket, s.key, s.Lock(), opts)
}

func (s *subject) wrapped(r *natsfence.Resource) fence.FencedResource[*natsfence.Tx] {
	if s.wrap != nil {
		return s.wrap(r, s)
	}
	return r
}

// The mistake that the expected revision is there against: read, judge, write.
func TestKitFailsReadThenPut(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.wrap = func(r *natsfence.Resource, s *subject) fence.FencedResource[*natsfence.Tx] {
		return &readThenPut{r, s}
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

type readThenPut struct {
	*natsfence.Resource
	s *subject
}

func (r *readThenPut) Apply(ctx context.Context, s fence.Stamp, change func(context.Context, *natsfence.Tx) error) error {
	js, err := jetstream.New(r.s.conns[0])
	if err != nil {
		return err
	}
	kv, err := js.KeyValue(ctx, r.s.bucket)
	if err != nil {
		return err
	}
	mark, err := r.Mark(ctx, r.s.Lock())
	if err != nil {
		return err
	}
	if err := fence.Judge(r.s.Lock(), mark, s); err != nil {
		return err
	}
	var next natsfence.Tx
	if err := change(ctx, &next); err != nil {
		return err
	}
	text, err := s.MarshalText()
	if err != nil {
		return err
	}
	_, err = kv.Put(ctx, r.s.key, fmt.Appendf(nil, "{\"etcdfence\":1,\"mark\":%q,\"call\":\"\"}\n%s", text, next.Body()))
	return err
}

func (r *readThenPut) Claim(ctx context.Context, t fence.Token) error {
	err := r.Apply(ctx, t.At(0), func(ctx context.Context, tx *natsfence.Tx) error {
		body, err := r.Body(ctx)
		tx.SetBody(body)
		return err
	})
	if errors.Is(err, fence.ErrReplayed) {
		return nil
	}
	return err
}
