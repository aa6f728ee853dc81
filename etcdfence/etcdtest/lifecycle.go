package etcdtest

import (
	"context"
	"testing"
)

// Stop ends the server in order: it closes all connections at once, hands over
// the leadership if it leads a cluster, and closes its files. Clients see
// refused connections until Restart. Stopping a stopped server does nothing.
func (s *Server) Stop() { s.end((*run).stop) }

// Kill ends the server as a crash of its process does: connections break and
// the other members are not told, so that a new leader takes an election
// timeout, 1 to 2 s. The data directory keeps what was written.
func (s *Server) Kill() { s.end((*run).kill) }

func (s *Server) end(how func(*run)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		how(s.run)
		s.run = nil
		s.conns.noticed()
	}
}

// Restart stops the server if it runs, starts it again on the same directory
// and the same address, and returns when it serves. Data, leases and revisions
// stay; etcd gives every lease its whole TTL again.
//
// The clients that the kit made for this server are connected again when it
// returns. Others, also those behind a Link, are as clients are after an outage:
// until they have connected again, their writes fail with Unavailable.
//
// A member of a cluster that has no majority cannot serve: start the others
// with Cluster.Restart.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), s.set.patience)
	defer cancel()
	for {
		err := s.start(t)
		if err == nil {
			s.conns.connected()
			return
		}
		if !portTaken(err) || !pause(ctx) {
			t.Fatal(err)
		}
	}
}
