package etcdtest

import (
	"context"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/types"
)

// Leader returns the member that leads, and waits for one: a member that runs,
// is not isolated, and is known as the leader to itself and a majority. After
// the leader was killed or isolated that takes an election timeout, 1 to 2 s.
func (c *Cluster) Leader(t testing.TB) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), c.set.patience)
	defer cancel()
	for {
		if s := c.leader(); s != nil {
			return s
		}
		if !pause(ctx) {
			t.Fatalf("etcdtest: no leader within %v", c.set.patience)
		}
	}
}

// leader returns the member that a majority follows, or nil.
func (c *Cluster) leader() *Server {
	type vote struct{ id, term uint64 }
	votes := map[vote]int{}
	byID := map[uint64]*Server{}
	for _, s := range c.members {
		e := s.Etcd()
		if e == nil || c.isIsolated(s) {
			continue
		}
		byID[uint64(e.Server.MemberID())] = s
		votes[vote{e.Server.Lead(), e.Server.Term()}]++
	}
	for v, n := range votes {
		s := byID[v.id]
		if s == nil || n <= len(c.members)/2 {
			continue
		}
		if e := s.Etcd(); e != nil && e.Server.Lead() == v.id && e.Server.Term() == v.term {
			return s
		}
	}
	return nil
}

// MoveLeader hands the leadership over to a member and returns when it leads.
func (c *Cluster) MoveLeader(t testing.TB, to *Server) {
	t.Helper()
	from, e := c.Leader(t).Etcd(), to.Etcd()
	if from == nil || e == nil {
		t.Fatalf("etcdtest: moving the leader to %s: a member is stopped", to.Name())
	}
	lead, transferee := uint64(from.Server.MemberID()), uint64(e.Server.MemberID())
	if lead == transferee {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.set.patience)
	defer cancel()
	if err := from.Server.MoveLeader(ctx, lead, transferee); err != nil {
		t.Fatalf("etcdtest: moving the leader to %s: %v", to.Name(), err)
	}
	for c.leader() != to {
		if !pause(ctx) {
			t.Fatalf("etcdtest: %s was given the leadership and does not lead", to.Name())
		}
	}
}

// Isolate cuts a running member off from the other members, in both
// directions, while its clients still reach it: the minority side of a
// partition. An isolated leader takes up to an election timeout to notice.
func (c *Cluster) Isolate(s *Server) {
	c.isolate(s, true)
	c.wire(s, (peers).CutPeer)
}

// Rejoin ends Isolate. Call it before the member, or another one, is restarted.
func (c *Cluster) Rejoin(s *Server) {
	c.isolate(s, false)
	c.wire(s, (peers).MendPeer)
}

func (c *Cluster) isolate(s *Server, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isolated[s] = on
}

func (c *Cluster) isIsolated(s *Server) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isolated[s]
}

// peers is what etcd's server offers to its own partition tests.
type peers interface {
	CutPeer(id types.ID)
	MendPeer(id types.ID)
	MemberID() types.ID
}

// wire does something to both ends of each connection between s and the others.
func (c *Cluster) wire(s *Server, do func(peers, types.ID)) {
	mine := s.Etcd()
	if mine == nil {
		return
	}
	for _, other := range c.members {
		if e := other.Etcd(); e != nil && other != s {
			do(mine.Server, e.Server.MemberID())
			do(e.Server, mine.Server.MemberID())
		}
	}
}
