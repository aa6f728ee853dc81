package etcdtest

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// A Link is the network between clients and one server: a TCP proxy on the
// loopback which the test can cut and heal.
//
// A cut link is a black hole, as a network partition or a stalled process is:
// it carries nothing, closes nothing and refuses nothing. New connections are
// accepted and get no answer; an end of stream is kept back too. What is sent
// into a cut link waits, in the proxy and in the buffers of TCP, and Heal
// delivers it, late and in order. So a request that was sent during the cut may
// take effect at the server after the heal, although its caller has given up
// long ago.
//
// When Cut returns the cut is in force: not one more byte passes.
//
// The methods may be called from several goroutines, in any order and number.
type Link struct {
	target string
	ln     net.Listener
	conns  *clients

	mu     sync.Mutex
	moved  *sync.Cond // on mu: something below has changed
	cut    [2]bool    // by direction
	busy   [2]int     // writes going on
	held   [2]int     // bytes that wait in the proxy
	pipes  map[*pipe]bool
	closed bool
	done   sync.WaitGroup
}

// The two directions of a link.
const (
	requests = iota // client to server
	replies         // server to client
)

// Link returns a new link to the server, closed when the test t ends. It
// survives Stop and Restart of the server: while the server is down, new
// connections through the link are closed.
func (s *Server) Link(t testing.TB) *Link {
	t.Helper()
	return NewLink(t, s.Address())
}

// NewLink returns a new link to any TCP address, host:port, closed when the
// test t ends.
func NewLink(t testing.TB, target string) *Link {
	t.Helper()
	l, err := newLink(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	return l
}

// newLink opens a link that its caller closes.
func newLink(target string) (*Link, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("etcdtest: opening a link: %w", err)
	}
	l := &Link{target: target, ln: ln, pipes: map[*pipe]bool{}}
	l.moved = sync.NewCond(&l.mu)
	l.conns = newClients(l.Endpoint())
	l.done.Go(l.accept)
	return l, nil
}

// Endpoint returns the address of the link's near end as clientv3.Config.Endpoints
// takes it.
func (l *Link) Endpoint() string { return "http://" + l.ln.Addr().String() }

// NewClient returns a client that reaches the server through this link only,
// closed when the test t ends. See Admin.NewClient.
func (l *Link) NewClient(t testing.TB, opts ...ClientOption) *clientv3.Client {
	t.Helper()
	return l.conns.client(t, opts)
}

// Cut stops both directions.
func (l *Link) Cut() { l.stop(requests, replies) }

// CutRequests stops what clients send; replies still pass.
func (l *Link) CutRequests() { l.stop(requests) }

// CutReplies stops what the server sends; requests still pass and take effect.
// It is how a reply gets lost whose request was carried out.
func (l *Link) CutReplies() { l.stop(replies) }

func (l *Link) stop(directions ...int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range directions {
		l.cut[d] = true
		for p := range l.pipes {
			p.interrupt(d, true)
		}
	}
	for _, d := range directions {
		for l.cut[d] && l.busy[d] > 0 {
			l.moved.Wait()
		}
	}
}

// Heal opens both directions and delivers what was kept back.
func (l *Link) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for d := range l.cut {
		l.cut[d] = false
		for p := range l.pipes {
			p.interrupt(d, false)
		}
	}
	l.moved.Broadcast()
}

// Sever breaks the connections that exist, cut or not, and discards what they
// kept back, as a router does that loses its state. Clients see an error and
// connect again.
func (l *Link) Sever() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.pipes {
		p.sever()
	}
	l.moved.Broadcast()
}

// Connections returns how many connections through the link are open.
func (l *Link) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pipes)
}

// WaitHeld returns when the cut link keeps something back, in either direction:
// with CutReplies, when the server has answered into the void. It counts bytes,
// not messages, so let nothing else talk through the same link. It fails the
// test after 20 s.
func (l *Link) WaitHeld(t testing.TB) {
	t.Helper()
	const patience = 20 * time.Second
	late := false
	timer := time.AfterFunc(patience, func() {
		l.mu.Lock()
		late = true
		l.mu.Unlock()
		l.moved.Broadcast()
	})
	defer timer.Stop()
	l.mu.Lock()
	for l.held[requests]+l.held[replies] == 0 && !late {
		l.moved.Wait()
	}
	nothing := l.held[requests]+l.held[replies] == 0
	l.mu.Unlock()
	if nothing {
		t.Fatalf("etcdtest: the link kept nothing back for %v", patience)
	}
}

// close ends the link's clients, its connections and its goroutines.
func (l *Link) close() {
	l.conns.closeAll()
	l.ln.Close()
	l.mu.Lock()
	l.closed = true
	for p := range l.pipes {
		p.sever()
	}
	l.moved.Broadcast()
	l.mu.Unlock()
	l.done.Wait()
}
