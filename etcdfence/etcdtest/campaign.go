package etcdtest

import (
	"context"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// campaign makes a member which is alone in its cluster stand for election now,
// again and again until it leads. By itself it would wait a random part of its
// election timeout, 0.1 to 1.0 s, although there is nobody to wait for. The
// message is the one with which a leader hands over; a member that leads, or
// has entries of its membership still to apply, ignores it.
//
// It ends with ctx. If a later raft ignored the message, the server would still
// start, by its own timer.
func (r *run) campaign(ctx context.Context) {
	id := uint64(r.etcd.Server.MemberID())
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for r.etcd.Server.Lead() != id {
		kind := raftpb.MsgTimeoutNow
		if r.etcd.Server.Process(ctx, &raftpb.Message{Type: &kind, From: &id, To: &id}) != nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
