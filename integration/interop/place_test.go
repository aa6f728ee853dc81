package interop_test

import (
	"context"
	"sync"
	"testing"
	"time"
)

// place is a contender's place in the queue.
type place struct {
	at       site
	who      contender
	key      string
	done     chan struct{} // closed when lock has returned
	revision int64
	err      error
}

// join lets a contender queue, as number n, and returns when its key is there.
func (at site) join(t *testing.T, who contender, n int) *place {
	t.Helper()
	p := &place{at: at, who: who, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(within(t, 40*time.Second))
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(p.done)
		p.revision, p.err = who.lock(ctx)
	})
	t.Cleanup(func() { // one that holds by now has returned from lock
		select {
		case <-p.done:
		default:
			cancel()
		}
		wg.Wait()
		cancel()
	})
	at.WaitQueued(t, queue, n)
	keys := at.Queue(t, queue)
	p.key = keys[len(keys)-1]
	return p
}

// waits fails the test if the contender has the lock by now. A wrong grant comes with
// the answer to a request, so some requests of our own give it time to arrive.
func (p *place) waits(t *testing.T) {
	t.Helper()
	for range 20 {
		p.at.Revision(t)
	}
	select {
	case <-p.done:
		t.Fatalf("%T does not wait: revision %d, %v", p.who, p.revision, p.err)
	default:
	}
}

// ends waits until lock has returned.
func (p *place) ends(t *testing.T) error {
	t.Helper()
	select {
	case <-p.done:
		return p.err
	case <-within(t, 30*time.Second).Done():
		t.Fatalf("%T still waits", p.who)
		return nil
	}
}

// granted waits until the contender has the lock, and checks that etcd says so too, by
// the same create revision.
func (p *place) granted(t *testing.T) int64 {
	t.Helper()
	if err := p.ends(t); err != nil {
		t.Fatalf("%T: %v", p.who, err)
	}
	if key, revision := p.at.first(t); key != p.key || revision != p.revision {
		t.Fatalf("%T holds by %q at %d; the first in the queue is %q at %d", p.who, p.key, p.revision, key, revision)
	}
	return p.revision
}

func (p *place) unlock(t *testing.T) {
	t.Helper()
	if err := p.who.unlock(within(t, 20*time.Second)); err != nil {
		t.Fatalf("%T: unlock: %v", p.who, err)
	}
}
