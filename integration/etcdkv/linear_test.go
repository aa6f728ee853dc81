package etcdkv_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/etcdfence/etcdkv"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
	"github.com/etcdfence/etcdfence/integration/kit"
)

func TestLinearizable(t *testing.T) {
	t.Run("alone", func(t *testing.T) {
		server := etcdtest.Start(t)
		kit.Linearizable(t, subjects(func() *clientv3.Client { return server.NewClient(t) }))
	})
	t.Run("three members", func(t *testing.T) {
		cluster := etcdtest.StartCluster(t, 3)
		var next atomic.Int64
		kit.Linearizable(t, subjects(func() *clientv3.Client {
			members := cluster.Members()
			return members[int(next.Add(1))%len(members)].NewClient(t)
		}))
	})
}

func TestSequences(t *testing.T) {
	server := etcdtest.Start(t)
	client := server.NewClient(t)
	kit.Sequences(t, subjects(func() *clientv3.Client { return client }))
}

// subject is a prefix of its own.
type subject struct {
	resource *etcdkv.Resource
	prefix   string
	connect  func() *clientv3.Client
}

func subjects(connect func() *clientv3.Client) fencetest.Factory[*etcdkv.Tx] {
	var prefixes atomic.Int64
	return func(context.Context) (fencetest.Subject[*etcdkv.Tx], error) {
		s := subject{prefix: fmt.Sprintf("kit/%d", prefixes.Add(1)), connect: connect}
		var err error
		s.resource, err = etcdkv.New(connect(), s.prefix, s.Lock(), nil)
		return s, err
	}
}

func (s subject) Resource() fence.FencedResource[*etcdkv.Tx] { return s.resource }
func (s subject) Lock() string                               { return "orders/42" }
func (s subject) Close() error                               { return nil }

func (s subject) Write(_ context.Context, tx *etcdkv.Tx, value string) error {
	tx.Put("value", value)
	return nil
}

func (s subject) Read(ctx context.Context) (string, error) {
	value, _, err := s.resource.Get(ctx, "value")
	return value, err
}

func (s subject) Share(context.Context) (fence.FencedResource[*etcdkv.Tx], error) {
	return etcdkv.New(s.connect(), s.prefix, s.Lock(), nil)
}
