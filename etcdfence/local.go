package etcdfence

import (
	"context"
	"sync"
)

// turns is the local exclusion: in one adapter, one goroutine at a time may have
// a key under a name. etcd's recipe has one key for each lease and name; two
// goroutines of one session share it, both "hold", and the first to unlock frees
// both. The others wait here, in order of arrival, and cost etcd nothing.
type turns struct {
	mu   sync.Mutex
	open map[string]*turn
}

type turn struct {
	busy  chan struct{} // holds one value while somebody has the turn; senders queue in order
	users int           // having or waiting; guarded by turns.mu
}

func (t *turns) get(name string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[string]*turn{}
	}
	u := t.open[name]
	if u == nil {
		u = &turn{busy: make(chan struct{}, 1)}
		t.open[name] = u
	}
	u.users++
	return u
}

func (t *turns) put(name string, u *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u.users--; u.users == 0 {
		delete(t.open, name)
	}
}

// take waits for the turn of name until ctx or closed is done. The returned
// function gives it back; calling it again does nothing.
func (t *turns) take(ctx context.Context, closed context.Context, name string) (leave func(), err error) {
	u := t.get(name)
	select {
	case u.busy <- struct{}{}:
		return t.leaver(name, u), nil
	default:
	}
	select {
	case u.busy <- struct{}{}:
		return t.leaver(name, u), nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-closed.Done():
		err = ErrClosed
	}
	t.put(name, u)
	return nil, err
}

// try takes the turn of name if it is free.
func (t *turns) try(name string) (leave func(), ok bool) {
	u := t.get(name)
	select {
	case u.busy <- struct{}{}:
		return t.leaver(name, u), true
	default:
		t.put(name, u)
		return nil, false
	}
}

func (t *turns) leaver(name string, u *turn) func() {
	return sync.OnceFunc(func() {
		<-u.busy
		t.put(name, u)
	})
}
