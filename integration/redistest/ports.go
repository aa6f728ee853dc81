package redistest

import (
	"net"
	"strconv"
	"strings"

	"github.com/etcdfence/etcdfence/integration/internal/private"
)

func atPort(port int) Option {
	return private.WithSettings("bind 127.0.0.1", "port "+strconv.Itoa(port))
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// freePorts are ports that were free a moment ago.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// facts are the lines "name:value" of an answer to INFO or CLUSTER INFO.
func facts(info string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		m[name] = value
	}
	return m
}
