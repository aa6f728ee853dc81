package mariatest

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/etcdfence/etcdfence/integration/internal/relay"
)

// Proxy stands between a client and the server and can lose an answer, such as that to
// a COMMIT: the server has done it, and the client sees a broken connection. It reads
// just enough of the protocol to know the statement that is answered.
type Proxy struct {
	server *Server
	relay  *relay.Relay
}

// NewProxy starts a proxy on a free loopback port and ends it with the test.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	dial := func() (net.Conn, error) { return net.Dial("unix", socket(s.Dir())) }
	return &Proxy{s, relay.New(t, dial, func(r *relay.Relay) (requests, answers relay.Copy) {
		c := &conversation{relay: r}
		return c.requests, c.answers
	})}
}

// DSN returns the given DSN of the server, but through the proxy.
func (p *Proxy) DSN(dsn string) string {
	return strings.Replace(dsn, "unix("+socket(p.server.Dir())+")", "tcp("+p.relay.Addr()+")", 1)
}

// Lose lets the next n statements that begin with the given text happen and loses their
// answers, by closing the connection in place of each. Only a statement that is sent as a
// text is seen: with parameters the driver must have interpolateParams=true.
func (p *Proxy) Lose(statement string, n int) {
	p.relay.Lose(n, func(said string) bool { return strings.HasPrefix(said, statement) })
}

// Lost returns how many answers were lost so far.
func (p *Proxy) Lost() int { return p.relay.Lost() }

// conversation is one connection.
type conversation struct {
	relay *relay.Relay
	lose  atomic.Bool // the next answer
}

// requests copies packet by packet: a length of three bytes, a number that is 0 for the
// first packet of a command, a body. Without TLS and compression, which the DSN must not
// ask for, nothing else comes from a client.
func (c *conversation) requests(server io.Writer, client io.Reader) error {
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
		if head[3] == 0 && len(body) > 0 && body[0] == query && c.relay.Losing(string(body[1:])) {
			c.lose.Store(true) // before the server hears of it, so that no answer is faster
		}
		if _, err := server.Write(append(head[:4:4], body...)); err != nil {
			return err
		}
	}
}

// answers copies what the server says, and returns instead of passing on what is to be lost.
func (c *conversation) answers(client io.Writer, server io.Reader) error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil || c.lose.Load() {
			return err
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return err
		}
	}
}
