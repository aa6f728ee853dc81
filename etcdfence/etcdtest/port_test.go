package etcdtest

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"
)

// The port of a stopped server refuses clients, and nobody else can take it.
func TestPortIsKeptWhileStopped(t *testing.T) {
	s := Start(t)
	s.Stop()
	if _, err := net.DialTimeout("tcp", s.Address(), time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dialling a stopped server: %v, want refused", err)
	}
	if !canHold {
		return // this system cannot: Restart tries until the port is free
	}
	if l, err := net.Listen("tcp", s.Address()); err == nil {
		l.Close()
		t.Error("somebody else could take the port")
	}
}

// A start that meets a taken port says so, and Start tries another one.
func TestTakenPortIsRecognised(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := newServer("m1", t.TempDir(), newToken(t), newSettings(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer s.seat.release()
	s.seat.client.release()
	s.seat.client = port{number: l.Addr().(*net.TCPAddr).Port}
	if err := s.start(t); !portTaken(err) {
		t.Errorf("start on a taken port: %v", err)
	}
}
