// Package relay stands between a client and a server and can lose an answer: the server
// has done what it was asked, and the client sees a broken connection. What an answer is,
// the protocol's own package says: pgtest, mariatest, natstest, redistest.
package relay

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Copy moves what one side of a connection says to the other side, until an error. An
// answer that is to be lost it does not pass on, but returns.
type Copy func(to io.Writer, from io.Reader) error

// Whole copies everything.
func Whole(to io.Writer, from io.Reader) error {
	_, err := io.Copy(to, from)
	return err
}

// Relay is a listener on a free loopback port.
type Relay struct {
	listener net.Listener
	dial     func() (net.Conn, error)
	copies   func() (requests, answers Copy)
	work     sync.WaitGroup

	mu     sync.Mutex
	which  func(text string) bool // what is to be lost
	armed  int                    // how many of them still
	lost   int                    // how many were
	open   map[net.Conn]bool      // both ends of every connection
	closed bool
}

// New starts a relay to the server that dial connects to, and ends it with the test t.
// copies is asked for each connection.
func New(t testing.TB, dial func() (net.Conn, error), copies func(*Relay) (requests, answers Copy)) *Relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{listener: listener, dial: dial, open: map[net.Conn]bool{}}
	r.copies = func() (Copy, Copy) { return copies(r) }
	r.work.Go(r.accept)
	t.Cleanup(r.close)
	return r
}

// Addr returns host and port of the relay.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Lose lets the next n exchanges of the given kind happen and loses their answers, by
// closing the connection in place of each.
func (r *Relay) Lose(n int, which func(text string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.which, r.armed = which, n
}

// Lost returns how many answers were lost so far.
func (r *Relay) Lost() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// Losing is asked by a Copy, once for each exchange, whether its answer is to be lost.
func (r *Relay) Losing(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.armed == 0 || !r.which(text) {
		return false
	}
	r.armed--
	r.lost++
	return true
}

func (r *Relay) close() {
	r.listener.Close()
	r.mu.Lock()
	r.closed = true
	for conn := range r.open {
		conn.Close()
	}
	r.mu.Unlock()
	r.work.Wait()
}

func (r *Relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := r.dial()
		if err != nil {
			client.Close() // as a server that is down would
			continue
		}
		if !r.keep(client, server) {
			return
		}
		requests, answers := r.copies()
		r.work.Go(func() {
			_ = requests(server, client)
			r.drop(client, server)
		})
		r.work.Go(func() {
			_ = answers(client, server)
			r.drop(client, server)
		})
	}
}

func (r *Relay) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range conns {
		if r.closed {
			conn.Close()
		} else {
			r.open[conn] = true
		}
	}
	return !r.closed
}

func (r *Relay) drop(conns ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
		delete(r.open, conn)
	}
}
