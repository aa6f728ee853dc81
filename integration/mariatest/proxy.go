package mariatest

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy stands between a client and the server and can lose an answer, such as that to
// a COMMIT: the server has done it, and the client sees a broken connection. It reads
// just enough of the protocol to know that answer.
type Proxy struct {
	server   *Server
	listener net.Listener
	work     sync.WaitGroup

	mu        sync.Mutex
	statement string            // whose answers are to be lost
	armed     int               // how many of them still
	lost      int               // how many were
	open      map[net.Conn]bool // both ends of every connection
	closed    bool
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
	return strings.Replace(dsn, "unix("+p.server.socket()+")", "tcp("+p.listener.Addr().String()+")", 1)
}

// Lose lets the next n statements that begin with the given text happen and loses their
// answers, by closing the connection in place of each. Only a statement that is sent as a
// text is seen: with parameters the driver must have interpolateParams=true.
func (p *Proxy) Lose(statement string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.statement, p.armed = statement, n
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
		server, err := net.Dial("unix", p.server.socket())
		if err != nil {
			client.Close() // as a server that is down would
			continue
		}
		if !p.keep(client, server) {
			return
		}
		var lose atomic.Bool // the next answer on this connection
		p.work.Go(func() {
			_ = p.requests(server, client, &lose)
			p.drop(client, server)
		})
		p.work.Go(func() {
			_ = answers(client, server, &lose)
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

// requests copies packet by packet: a length of three bytes, a number that is 0 for the
// first packet of a command, a body. Without TLS and compression, which the DSN must not
// ask for, nothing else comes from a client.
func (p *Proxy) requests(server io.Writer, client io.Reader, lose *atomic.Bool) error {
	in, head := bufio.NewReader(client), make([]byte, 4)
	for {
		if _, err := io.ReadFull(in, head); err != nil {
			return err
		}
		body := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
		if _, err := io.ReadFull(in, body); err != nil {
			return err
		}
		const query = 3 // the command that carries a statement as a text
		if head[3] == 0 && len(body) > 0 && body[0] == query && p.lose(string(body[1:])) {
			lose.Store(true) // before the server hears of it, so that no answer is faster
		}
		if _, err := server.Write(append(head[:4:4], body...)); err != nil {
			return err
		}
	}
}

// answers copies what the server says, and returns instead of passing on what is to be lost.
func answers(client io.Writer, server io.Reader, lose *atomic.Bool) error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil || lose.Load() {
			return err
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return err
		}
	}
}

func (p *Proxy) lose(statement string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.armed == 0 || !strings.HasPrefix(statement, p.statement) {
		return false
	}
	p.armed--
	p.lost++
	return true
}
