package etcdtest

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// When Cut returns, not one more byte passes: neither those that the proxy has
// read already, nor the rest of a write that is going on. net.Pipe has no
// buffer, so what can be read from it was let through.
func TestCutIsInForceAtOnce(t *testing.T) {
	l := NewLink(t, "127.0.0.1:1")
	client, near := net.Pipe()
	far, server := net.Pipe()
	p := &pipe{near: near, far: far}
	l.mu.Lock()
	l.pipes[p] = true
	l.mu.Unlock()
	l.done.Go(func() { l.copy(p, requests, far, near) })
	defer func() { client.Close(); server.Close() }()

	message := []byte("0123456789")
	for round := range 20 {
		written := make(chan error, 1)
		go func() { _, err := client.Write(message); written <- err }()
		if err := <-written; err != nil { // the proxy has read it
			t.Fatal(err)
		}
		head := make([]byte, round%len(message))
		if _, err := io.ReadFull(server, head); err != nil {
			t.Fatal(err)
		}
		l.Cut()
		server.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
		if n, err := server.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("round %d: %d bytes passed a cut link (%v)", round, n, err)
		}
		server.SetReadDeadline(time.Time{})
		l.WaitHeld(t)
		l.Heal()
		tail := make([]byte, len(message)-len(head))
		if _, err := io.ReadFull(server, tail); err != nil {
			t.Fatal(err)
		}
		if got := string(head) + string(tail); got != string(message) {
			t.Fatalf("round %d: %q arrived, want %q", round, got, message)
		}
	}
}
