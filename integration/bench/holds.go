package main

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/etcdfence/etcdfence/etcdfence"
)

// holds measures what ten thousand live holds of one adapter cost this process.
func holds(h *host) {
	const n, workers = 10_000, 32
	server := h.etcdApart("nofsync") // its memory is not ours
	a := h.adapter(server.NewClient(h))
	h.must(h.cycle(a, "warm up")()) // connection, lease and renewal are there
	all := make([]*etcdfence.Hold, n)
	before, bytes := runtime.NumGoroutine(), inUse()

	start := time.Now()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				var err error
				if all[i], err = a.Lock(h.ctx, fmt.Sprintf("job %05d", i)); err != nil {
					h.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if h.Failed() {
		h.FailNow()
	}
	took := time.Since(start)

	// The adapter does not watch a hold in its first moment. One more is the youngest:
	// when the deletion of its key is noticed, all the others are watched too.
	youngest, err := a.Lock(h.ctx, "youngest")
	h.must(err)
	server.DeleteKey(h, youngest.Key())
	select {
	case <-youngest.Done():
	case <-time.After(ttl / 2 * second):
		h.Fatal("the holds are not watched")
	}
	_ = youngest.Release(h.ctx) // it is lost
	after, more := runtime.NumGoroutine(), inUse()

	for _, hold := range all {
		if err := hold.Err(); err != nil {
			h.Fatalf("a hold ended: %v", err)
		}
	}
	figure("holds_10000_goroutines", []float64{float64(after - before)}, goal{"<=", 100})
	note("%d holds, acquired in %v: %d goroutines before, %d after; %d bytes for each hold, heap and stacks",
		n, took.Round(time.Millisecond), before, after, (more-bytes)/n)
}

// inUse returns the bytes of heap and stacks that are in use after a collection.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // what finalizers have let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
