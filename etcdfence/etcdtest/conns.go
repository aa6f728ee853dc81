package etcdtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/stats"
)

// connTable knows the client connections of one server. It is the server's own
// view, so that parallel tests do not disturb each other's leak check.
type connTable struct {
	mu      sync.Mutex
	open    map[*connTag]bool
	changed chan struct{} // closed and replaced at each change
}

type connTag struct {
	remote string
	last   string // the last method called on it: a hint at who it is
}

type connKey struct{}

func newConnTable() *connTable {
	return &connTable{open: map[*connTag]bool{}, changed: make(chan struct{})}
}

// TagConn implements stats.Handler.
func (ct *connTable) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, connKey{}, &connTag{remote: info.RemoteAddr.String()})
}

// HandleConn implements stats.Handler.
func (ct *connTable) HandleConn(ctx context.Context, s stats.ConnStats) {
	tag, ok := ctx.Value(connKey{}).(*connTag)
	if !ok {
		return
	}
	ct.mu.Lock()
	defer ct.mu.Unlock()
	switch s.(type) {
	case *stats.ConnBegin:
		ct.open[tag] = true
	case *stats.ConnEnd:
		delete(ct.open, tag)
	}
	close(ct.changed)
	ct.changed = make(chan struct{})
}

// TagRPC implements stats.Handler.
func (ct *connTable) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if tag, ok := ctx.Value(connKey{}).(*connTag); ok {
		ct.mu.Lock()
		tag.last = info.FullMethodName
		ct.mu.Unlock()
	}
	return ctx
}

// HandleRPC implements stats.Handler.
func (ct *connTable) HandleRPC(context.Context, stats.RPCStats) {}

// verifyIdle fails the test if clients stay connected although all those that
// the kit made are closed. The server hears of a close a moment later.
func (ct *connTable) verifyIdle(t testing.TB, name string, patience time.Duration) {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		ct.mu.Lock()
		changed := ct.changed
		var left []connTag
		for tag := range ct.open {
			left = append(left, *tag)
		}
		ct.mu.Unlock()
		if len(left) == 0 {
			return
		}
		select {
		case <-changed:
		case <-timeout.C:
			for _, tag := range left {
				t.Errorf("etcdtest: a client is still connected to server %s from %s (last call %q): close it before the test ends, or start with WithOpenClients",
					name, tag.remote, tag.last)
			}
			return
		}
	}
}
