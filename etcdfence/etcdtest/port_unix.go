//go:build unix && !solaris

package etcdtest

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// canHold says that reservePort keeps the port, and that etcd must be told to
// share it (SO_REUSEPORT), which two sockets of one user may do.
const canHold = true

// reservePort takes a free loopback port and keeps it.
func reservePort() (port, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return port{}, fmt.Errorf("etcdtest: reserving a port: %w", err)
	}
	unix.CloseOnExec(fd)
	number, err := bind(fd)
	if err != nil {
		unix.Close(fd)
		return port{}, fmt.Errorf("etcdtest: reserving a port: %w", err)
	}
	return port{number: number, hold: func() { unix.Close(fd) }}, nil
}

// bind binds fd to a loopback port of the system's choice without listening.
func bind(fd int) (int, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	return sa.(*unix.SockaddrInet4).Port, nil
}
