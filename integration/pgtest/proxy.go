package pgtest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcdfence/etcdfence/integration/internal/relay"
)

// Proxy stands between a client and the server and can lose an answer, such as that to
// a COMMIT: the server has done it, and the client sees a broken connection. It reads
// just enough of the protocol to know that answer.
type Proxy struct{ relay *relay.Relay }

// NewProxy starts a proxy on a free loopback port and ends it with the test.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	dial := func() (net.Conn, error) { return net.Dial("unix", filepath.Join(s.Dir(), ".s.PGSQL."+port)) }
	return &Proxy{relay.New(t, dial, func(r *relay.Relay) (requests, answers relay.Copy) {
		return relay.Whole, func(client io.Writer, server io.Reader) error { return copyAnswers(r, client, server) }
	})}
}

// DSN returns the given DSN of the server, but through the proxy.
func (p *Proxy) DSN(dsn string) string {
	host, number, _ := net.SplitHostPort(p.relay.Addr())
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
	p.relay.Lose(n, func(said string) bool { return said == tag })
}

// Lost returns how many answers were lost so far.
func (p *Proxy) Lost() int { return p.relay.Lost() }

// copyAnswers copies message by message: a type byte, a length that includes itself, a
// body. It returns instead of passing on a "C" (command complete) that is to be lost.
// Without TLS, which the DSN turns off, nothing else comes from a server.
func copyAnswers(r *relay.Relay, client io.Writer, server io.Reader) error {
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
		if head[0] == 'C' && r.Losing(strings.TrimSuffix(string(body), "\x00")) {
			return nil
		}
		if _, err := client.Write(append(head[:5:5], body...)); err != nil {
			return err
		}
	}
}
