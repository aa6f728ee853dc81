package natstest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Proxy stands between a client and a server and can lose the answer to a write: the
// stream has stored it, and the client's connection breaks. It reads just enough of the
// protocol to know such an answer.
type Proxy struct {
	server   string // host:port
	listener net.Listener
	work     sync.WaitGroup

	mu     sync.Mutex
	armed  int // how many answers are to be lost
	lost   int // how many were
	open   map[net.Conn]bool
	closed bool
}

// NewProxy starts a proxy to the server with the given URL, on a free loopback port, and
// ends it with the test t.
func NewProxy(t testing.TB, serverURL string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{server: strings.TrimPrefix(serverURL, "nats://"), listener: listener, open: map[net.Conn]bool{}}
	p.work.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// URL returns the proxy's address as [nats.Connect] takes it.
func (p *Proxy) URL() string { return "nats://" + p.listener.Addr().String() }

// Connect is the server's, but through the proxy.
func (p *Proxy) Connect(t testing.TB, opts ...nats.Option) *nats.Conn {
	t.Helper()
	return connect(t, p.URL(), opts...)
}

// JetStream is the server's, but through the proxy.
func (p *Proxy) JetStream(t testing.TB, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(p.Connect(t, opts...))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// Lose loses the answers to the next n writes that are stored, by closing the connection
// in place of each.
func (p *Proxy) Lose(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = n
}

// Lost returns how many answers were lost so far.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

func (p *Proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for conn := range p.open {
		conn.Close()
	}
	p.mu.Unlock()
	p.work.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close() // as a server that is down would
			continue
		}
		if !p.keep(client, server) {
			return
		}
		p.work.Go(func() {
			_, _ = io.Copy(server, client)
			p.drop(client, server)
		})
		p.work.Go(func() {
			_ = p.answers(client, server)
			p.drop(client, server)
		})
	}
}

func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		if p.closed {
			conn.Close()
		} else {
			p.open[conn] = true
		}
	}
	return !p.closed
}

func (p *Proxy) drop(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
		delete(p.open, conn)
	}
}

// answers copies what the server sends, line by line. A line that begins with MSG or HMSG
// ends in the length of the message that follows it. It returns instead of passing on the
// answer to a write that is to be lost.
func (p *Proxy) answers(client io.Writer, server io.Reader) error {
	in := bufio.NewReader(server)
	for {
		out, err := in.ReadBytes('\n')
		if err != nil {
			return err
		}
		if fields := strings.Fields(string(out)); len(fields) > 0 && (fields[0] == "MSG" || fields[0] == "HMSG") {
			size, err := strconv.Atoi(fields[len(fields)-1])
			if err != nil {
				return err
			}
			body := make([]byte, size+len("\r\n"))
			if _, err := io.ReadFull(in, body); err != nil {
				return err
			}
			if stored(body) && p.lose() {
				return nil
			}
			out = append(out, body...)
		}
		if _, err := client.Write(out); err != nil {
			return err
		}
	}
}

// stored reports whether a message is the answer to a write that a stream has stored.
func stored(body []byte) bool {
	return bytes.HasPrefix(body, []byte(`{"stream":`)) && bytes.Contains(body, []byte(`"seq":`))
}

func (p *Proxy) lose() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.armed == 0 {
		return false
	}
	p.armed--
	p.lost++
	return true
}
