package redistest

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/integration/internal/relay"
)

// Proxy stands between a client and a server and can lose an answer: the server has done
// what it was asked, and the client sees a broken connection. It reads just enough of the
// protocol to know the command that is answered.
type Proxy struct{ relay *relay.Relay }

// NewProxy starts a proxy on a free loopback port and ends it with the test.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	return &Proxy{relay.New(t, s.dial, func(r *relay.Relay) (requests, answers relay.Copy) {
		c := &conversation{relay: r}
		return c.requests, c.answers
	})}
}

// Addr returns host and port of the proxy.
func (p *Proxy) Addr() string { return p.relay.Addr() }

// Options are those of a client of the server, through the proxy.
func (p *Proxy) Options() *redis.Options { return &redis.Options{Addr: p.Addr()} }

// Client returns a client of the server through the proxy, that lasts as long as the test.
func (p *Proxy) Client(t testing.TB) *redis.Client {
	t.Helper()
	return client(t, p.Options())
}

// Lose lets the next n commands of the given names, in capitals, happen and loses their
// answers, by closing the connection in place of each.
func (p *Proxy) Lose(n int, names ...string) {
	p.LoseIf(n, func(words []string) bool {
		for _, name := range names {
			if strings.EqualFold(words[0], name) {
				return true
			}
		}
		return false
	})
}

// LoseIf is Lose for commands that are chosen by all their words.
func (p *Proxy) LoseIf(n int, which func(words []string) bool) {
	p.relay.Lose(n, func(text string) bool { return which(strings.Split(text, "\x00")) })
}

// Lost returns how many answers were lost so far.
func (p *Proxy) Lost() int { return p.relay.Lost() }

// conversation is one connection.
type conversation struct {
	relay *relay.Relay
	lose  atomic.Bool // the next answer
}

// requests copies command by command: "*", the number of words, and each word behind "$"
// and its length.
func (c *conversation) requests(server io.Writer, client io.Reader) error {
	in := bufio.NewReader(client)
	for {
		raw, err := in.ReadBytes('\n')
		if err != nil {
			return err
		}
		count, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(string(raw), "*")))
		if err != nil {
			return err
		}
		var words []string
		for range count {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return err
			}
			size, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(string(line), "$")))
			if err != nil {
				return err
			}
			word := make([]byte, size+len("\r\n"))
			if _, err := io.ReadFull(in, word); err != nil {
				return err
			}
			raw, words = append(append(raw, line...), word...), append(words, string(word[:size]))
		}
		if len(words) > 0 && c.relay.Losing(strings.Join(words, "\x00")) {
			c.lose.Store(true) // before the server hears of it, so that no answer is faster
		}
		if _, err := server.Write(raw); err != nil {
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
