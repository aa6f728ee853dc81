package natstest

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/etcdfence/etcdfence/integration/internal/relay"
)

// Proxy stands between a client and a server and can lose the answer to a write: the
// stream has stored it, and the client's connection breaks. It reads just enough of the
// protocol to know such an answer.
type Proxy struct{ relay *relay.Relay }

// NewProxy starts a proxy to the server with the given URL, on a free loopback port, and
// ends it with the test t.
func NewProxy(t testing.TB, serverURL string) *Proxy {
	t.Helper()
	dial := func() (net.Conn, error) { return net.Dial("tcp", strings.TrimPrefix(serverURL, "nats://")) }
	return &Proxy{relay.New(t, dial, func(r *relay.Relay) (requests, answers relay.Copy) {
		return relay.Whole, func(client io.Writer, server io.Reader) error { return copyAnswers(r, client, server) }
	})}
}

// URL returns the proxy's address as [nats.Connect] takes it.
func (p *Proxy) URL() string { return "nats://" + p.relay.Addr() }

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
func (p *Proxy) Lose(n int) { p.relay.Lose(n, stored) }

// Lost returns how many answers were lost so far.
func (p *Proxy) Lost() int { return p.relay.Lost() }

// copyAnswers copies what the server sends, line by line. A line that begins with MSG or
// HMSG ends in the length of the message that follows it. It returns instead of passing on
// the answer to a write that is to be lost.
func copyAnswers(r *relay.Relay, client io.Writer, server io.Reader) error {
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
			if r.Losing(string(body)) {
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
func stored(body string) bool {
	return strings.HasPrefix(body, `{"stream":`) && strings.Contains(body, `"seq":`)
}
