package etcdtest

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
)

// A port is a loopback TCP port that belongs to one server of the kit for as
// long as the test runs, also while that server is stopped. Where the system
// allows it, hold is a socket that is bound and never listens: nobody else gets
// the number, and a client that connects while the server is down is refused
// as it should be.
type port struct {
	number int
	hold   func()
}

// release gives the number back to the system.
func (p port) release() {
	if p.hold != nil {
		p.hold()
	}
}

// address returns host:port.
func (p port) address() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.number))
}

// url returns the address as etcd's configuration wants it.
func (p port) url() url.URL {
	return url.URL{Scheme: "http", Host: p.address()}
}

// guessPort asks the system for a free port and gives it back at once. Between
// this call and its use somebody else may take it, so the user of a guessed
// port tries again with another one.
func guessPort() (port, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return port{}, fmt.Errorf("etcdtest: no free loopback port: %w", err)
	}
	n := l.Addr().(*net.TCPAddr).Port
	return port{number: n}, l.Close()
}
