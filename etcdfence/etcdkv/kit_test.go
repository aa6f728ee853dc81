package etcdkv_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/etcdfence/etcdkv"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
)

// The conformance kit, with every power, on one server that some cases kill.
func TestKit(t *testing.T) {
	fencetest.Run(t, newHouse(t).subject)
}

// house is a server in which every subject has a prefix of its own.
type house struct {
	t        *testing.T
	server   *etcdtest.Server
	prefixes atomic.Int64
	wrap     func(*etcdkv.Resource, *subject) fence.FencedResource[*etcdkv.Tx] // for mutants
}

func newHouse(t *testing.T) *house { return &house{t: t, server: etcdtest.Start(t)} }

type subject struct {
	*house
	prefix   string
	clients  []*clientv3.Client // the last one is in use
	faults   *etcdtest.Faults   // in front of that
	resource *etcdkv.Resource
}

func (h *house) subject(context.Context) (fencetest.Subject[*etcdkv.Tx], error) {
	s := &subject{house: h, prefix: fmt.Sprintf("kit/%d", h.prefixes.Add(1))}
	return s, s.Reopen(nil) //nolint:staticcheck // it sends nothing
}

func (s *subject) Resource() fence.FencedResource[*etcdkv.Tx] { return s.wrapped(s.resource) }
func (s *subject) Lock() string                               { return "orders/42" }
func (s *subject) Operations()                                {}

func (s *subject) Write(_ context.Context, tx *etcdkv.Tx, value string) error {
	tx.Put("value", value)
	return nil
}

func (s *subject) Read(ctx context.Context) (string, error) {
	value, _, err := s.resource.Get(ctx, "value")
	return value, err
}

func (s *subject) Close() (err error) {
	for _, c := range s.clients {
		err = errors.Join(err, c.Close())
	}
	return err
}

func (s *subject) Reopen(context.Context) (err error) {
	client := s.server.NewClient(s.t)
	s.clients = append(s.clients, client)
	s.faults = etcdtest.NewFaults(s.t)
	s.faults.Install(client)
	s.resource, err = etcdkv.New(client, s.prefix, s.Lock(), nil)
	return err
}

func (s *subject) Crash(context.Context) error {
	s.server.Kill()
	s.server.Restart(s.t)
	return nil
}

func (s *subject) Lose(context.Context) error {
	s.faults.Clear()
	s.faults.Add(etcdtest.Rule{Op: etcdtest.OpTxn, Match: etcdtest.Call.Writes, Do: etcdtest.LoseReply})
	return nil
}

func (s *subject) Share(context.Context) (fence.FencedResource[*etcdkv.Tx], error) {
	client := s.server.NewClient(s.t)
	s.clients = append([]*clientv3.Client{client}, s.clients...)
	r, err := etcdkv.New(client, s.prefix, s.Lock(), nil)
	return s.wrapped(r), err
}

func (s *subject) AnyOrder(context.Context) (fence.FencedResource[*etcdkv.Tx], error) {
	return etcdkv.New(s.clients[len(s.clients)-1], s.prefix, s.Lock(), &etcdkv.Options{AnyOrder: true})
}

func (s *subject) wrapped(r *etcdkv.Resource) fence.FencedResource[*etcdkv.Tx] {
	if s.wrap != nil {
		return s.wrap(r, s)
	}
	return r
}
