package etcdkv_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdkv"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
)

const lock = "orders/42"

// T19: holders overlap, each reads a counter, adds one and writes it. Accepted increments
// are the final counter, with the read outside of the write (the claim protects it) and
// with the lock's key compared or not.
func TestT19OverlappingHolders(t *testing.T) {
	for name, opts := range map[string]*etcdkv.Options{
		"marks":              nil,
		"marks and lock key": {LockKey: etcdkv.LockKey("")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := etcdtest.Start(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var accepted, refused atomic.Int64
			var all sync.WaitGroup
			for range 4 {
				client := server.NewClient(t)
				r, err := etcdkv.New(client, "data", lock, opts)
				must(t, err)
				all.Go(func() {
					a, err := etcdfence.New(client, nil)
					if err != nil {
						t.Error(err)
						return
					}
					defer a.Close()
					for range 10 {
						if err := round(ctx, t, server, a, r, &accepted, &refused); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			r, err := etcdkv.New(server.NewClient(t), "data", lock, nil)
			must(t, err)
			counter, _, err := r.Get(t.Context(), "counter")
			must(t, err)
			t.Logf("%d accepted, %d refused", accepted.Load(), refused.Load())
			if counter != fmt.Sprint(accepted.Load()) || accepted.Load() == 0 || refused.Load() == 0 {
				t.Fatalf("%d increments were accepted, %d refused, and the counter is %s", accepted.Load(), refused.Load(), counter)
			}
		})
	}
}

// round takes the lock, and loses it to the next holder between one write and another: an
// administrator deletes the key, which etcd takes for the end of the hold.
func round(ctx context.Context, t *testing.T, server *etcdtest.Server, a *etcdfence.Adapter, r *etcdkv.Resource, accepted, refused *atomic.Int64) error {
	h, err := a.Lock(ctx, lock)
	if err != nil {
		return err
	}
	defer h.Release(ctx)
	w, err := etcdfence.Bind(ctx, h, r)
	for i := 0; err == nil && i < 3; i++ {
		var text string
		if text, _, err = r.Get(ctx, "counter"); err != nil {
			return err
		}
		n, _ := strconv.Atoi(text) // 0 before the first
		if i == 1 {
			server.DeleteKey(t, h.Key())
		}
		err = w.Apply(ctx, func(_ context.Context, tx *etcdkv.Tx) error {
			tx.Put("counter", fmt.Sprint(n+1))
			return nil
		})
		if err == nil {
			accepted.Add(1)
		}
	}
	if errors.Is(err, fence.ErrStale) {
		refused.Add(1)
		err = nil
	}
	return err
}

// The server, which holds locks and data, is killed in the middle of writes. Mark and data
// agree afterwards, and nothing that was accepted is gone.
func TestKilledInTheMiddle(t *testing.T) {
	server := etcdtest.Start(t)
	client := server.NewClient(t)
	r, err := etcdkv.New(client, "data", lock, nil)
	must(t, err)
	token, err := fence.NewToken(lock, 0, 5, "holder")
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	wrote, stopped := make(chan struct{}), make(chan struct{})
	var accepted, unknown int64
	var writer sync.WaitGroup
	writer.Go(func() {
		for sequence := int64(1); ; sequence++ {
			s := token.At(sequence)
			err := r.Apply(ctx, s, func(_ context.Context, tx *etcdkv.Tx) error {
				tx.Put("a", s.String())
				tx.Put("b", s.String())
				return nil
			})
			switch {
			case err == nil:
				accepted = sequence
			case fence.SafeToRetry(err):
				unknown++
			default:
				t.Errorf("after %d: %v", accepted, err)
				return
			}
			select {
			case wrote <- struct{}{}:
			case <-stopped:
				return
			case <-ctx.Done():
				t.Error(ctx.Err())
				return
			}
		}
	})
	for range 3 {
		for range 10 {
			<-wrote
		}
		server.Kill()
		server.Restart(t)
	}
	close(stopped)
	writer.Wait()
	mark, err := r.Mark(ctx, lock)
	must(t, err)
	for _, key := range []string{"a", "b"} {
		value, _, err := r.Get(ctx, key)
		must(t, err)
		if value != mark.String() || mark.Sequence() < accepted {
			t.Fatalf("%s is %q beside the mark %v; %d was accepted last", key, value, mark, accepted)
		}
	}
	t.Logf("accepted up to %d, %d with an unknown outcome", accepted, unknown)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
