package etcdtest

import (
	"context"
	"expvar"
	"sync"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// launching is held while an etcd starts: etcd publishes the raft status of the
// server that started last, and applied must not read that of another one.
var launching sync.Mutex

// campaign makes a member which is alone in its cluster stand for election now,
// again and again until it leads. By itself it would wait a random part of its
// election timeout, 0.1 to 1.0 s, although there is nobody to wait for. The
// message is the one with which a leader hands over; a member that leads
// ignores it.
//
// It ends with ctx. If a later raft ignored the message, the server would still
// start, by its own timer.
func (r *run) campaign(ctx context.Context) {
	id := uint64(r.etcd.Server.MemberID())
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for r.etcd.Server.Lead() != id {
		if r.fresh || applied(id) {
			kind := raftpb.MsgTimeoutNow
			if r.etcd.Server.Process(ctx, &raftpb.Message{Type: &kind, From: &id, To: &id}) != nil {
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// applied reports whether the raft of this member has taken note that the
// entries of its old log are applied. Before that it looks through them when it
// is asked to campaign, and panics if etcd has already dropped the first ones
// from memory, which it does from 100 entries on. A new member has one entry.
func applied(id uint64) bool {
	v, ok := expvar.Get("raft.status").(expvar.Func)
	if !ok {
		return false
	}
	s, ok := v.Value().(raft.Status)
	return ok && s.ID == id && s.Applied >= s.HardState.GetCommit()
}
