package pgtest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Proxy stands between a client and the server and can lose an answer, such as that to
// a COMMIT: the server has done it, and the client sees a broken connection. It reads
// just enough of the protocol to know that answer.
type Proxy struct {
	server   *Server
	listener net.Listener
	work     sync.WaitGroup

	mu     sync.Mutex
	tag    string            // which answers are to be lost
	armed  int               // how many of them still
	lost   int               // how many were
	open   map[net.Conn]bool // both ends of every connection
	closed bool
}

// NewProxy starts a proxy on a free loopback port and ends it with the test.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{server: s, listener: listener, open: map[net.Conn]bool{}}
	p.work.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// DSN returns the given DSN of the server, but through the proxy.
func (p *Proxy) DSN(dsn string) string {
	host, number, _ := net.SplitHostPort(p.listener.Addr().String())
	fields := strings.Fields(dsn)
	for i, f := range fields {
		switch name, _, _ := strings.Cut(f, "="); name {
		case "host":
			fields[i] = "host=" + host
		case "port":
			fields[i] = "port=" + number
		}
	}
	return strings.Join(fields, " ")
}

// Lose lets the next n statements with the given command tag happen and loses their
// answers, by closing the connection in place of each. The tag is what psql prints:
// "COMMIT", or "UPDATE 1".
func (p *Proxy) Lose(tag string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tag, p.armed = tag, n
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
		server, err := net.Dial("unix", filepath.Join(p.server.root, ".s.PGSQL."+port))
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

// answers copies message by message: a type byte, a length that includes itself, a body.
// It returns instead of passing on a "C" (command complete) that is to be lost. Without TLS, which the DSN turns off, nothing else comes from a server.
func (p *Proxy) answers(client io.Writer, server io.Reader) error {
	in, head := bufio.NewReader(server), make([]byte, 5)
	for {
		if _, err := io.ReadFull(in, head); err != nil {
			return err
		}
		size := binary.BigEndian.Uint32(head[1:])
		if size < 4 {
			return fmt.Errorf("pgtest: a message of length %d", size)
		}
		body := make([]byte, size-4)
		if _, err := io.ReadFull(in, body); err != nil {
			return err
		}
		if head[0] == 'C' && p.lose(strings.TrimSuffix(string(body), "\x00")) {
			return nil
		}
		if _, err := client.Write(append(head[:5:5], body...)); err != nil {
			return err
		}
	}
}

func (p *Proxy) lose(tag string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.armed == 0 || p.tag != tag {
		return false
	}
	p.armed--
	p.lost++
	return true
}
