package costs

import (
	"context"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// One acquisition and release of a lock that nobody else wants.
func BenchmarkFree(b *testing.B) {
	b.Run("raw", func(b *testing.B) { contenders(b, 1, raw) })
	b.Run("adapter", func(b *testing.B) { contenders(b, 1, adapter) })
}

// The same with two clients that both want it all the time.
func BenchmarkTwoContenders(b *testing.B) {
	b.Run("raw", func(b *testing.B) { contenders(b, 2, raw) })
	b.Run("adapter", func(b *testing.B) { contenders(b, 2, adapter) })
}

// contenders shares b.N holds among n clients of one embedded etcd without fsync.
func contenders(b *testing.B, n int, kind func(*testing.B, *clientv3.Client) func() error) {
	server := etcdtest.Start(b)
	cycles := make([]func() error, n)
	for i := range cycles {
		cycles[i] = kind(b, server.NewClient(b))
		if err := cycles[i](); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	var group sync.WaitGroup
	for i, cycle := range cycles {
		group.Go(func() {
			for range (b.N + i) / n {
				if err := cycle(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.StopTimer()
}

func raw(b *testing.B, client *clientv3.Client) func() error {
	s, err := concurrency.NewSession(client)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	m := concurrency.NewMutex(s, "job")
	return func() error {
		if err := m.Lock(context.Background()); err != nil {
			return err
		}
		return m.Unlock(context.Background())
	}
}

func adapter(b *testing.B, client *clientv3.Client) func() error {
	a, err := etcdfence.New(client, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { a.Close() })
	return func() error {
		h, err := a.Lock(context.Background(), "job")
		if err != nil {
			return err
		}
		return h.Release(context.Background())
	}
}
