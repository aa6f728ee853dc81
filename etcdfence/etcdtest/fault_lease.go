package etcdtest

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Lease returns a front for a Lease: client.Lease = faults.Lease(client.Lease).
//
// A rule about OpKeepAlive speaks of the whole stream: FailBefore refuses to
// start it; LoseReply renews once and closes the channel without a response,
// which ends the renewals; HoldReply renews and delivers nothing until it is
// released, then the responses that clientv3 has kept (16) and the later ones;
// ErrClosed closes the channel where an error would be returned.
func (f *Faults) Lease(l clientv3.Lease) clientv3.Lease { return &faultyLease{Lease: l, f: f} }

type faultyLease struct {
	clientv3.Lease
	f *Faults
}

func (l *faultyLease) Grant(ctx context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	return through(ctx, l.f, Call{Op: OpGrant}, func() (*clientv3.LeaseGrantResponse, error) {
		return l.Lease.Grant(ctx, ttl)
	})
}

func (l *faultyLease) Revoke(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseRevokeResponse, error) {
	return through(ctx, l.f, Call{Op: OpRevoke, Lease: id}, func() (*clientv3.LeaseRevokeResponse, error) {
		return l.Lease.Revoke(ctx, id)
	})
}

func (l *faultyLease) TimeToLive(ctx context.Context, id clientv3.LeaseID, opts ...clientv3.LeaseOption) (*clientv3.LeaseTimeToLiveResponse, error) {
	return through(ctx, l.f, Call{Op: OpTimeToLive, Lease: id}, func() (*clientv3.LeaseTimeToLiveResponse, error) {
		return l.Lease.TimeToLive(ctx, id, opts...)
	})
}

func (l *faultyLease) Leases(ctx context.Context) (*clientv3.LeaseLeasesResponse, error) {
	return through(ctx, l.f, Call{Op: OpLeases}, func() (*clientv3.LeaseLeasesResponse, error) {
		return l.Lease.Leases(ctx)
	})
}

func (l *faultyLease) KeepAliveOnce(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error) {
	return through(ctx, l.f, Call{Op: OpKeepAliveOnce, Lease: id}, func() (*clientv3.LeaseKeepAliveResponse, error) {
		return l.Lease.KeepAliveOnce(ctx, id)
	})
}

// keepAlives is the channel that KeepAlive returns.
type keepAlives = <-chan *clientv3.LeaseKeepAliveResponse

func (l *faultyLease) KeepAlive(ctx context.Context, id clientv3.LeaseID) (keepAlives, error) {
	t := l.f.note(Call{Op: OpKeepAlive, Lease: id})
	if t == nil {
		return l.Lease.KeepAlive(ctx, id)
	}
	switch t.rule.Do {
	case Observe:
		t.fire()
		return l.Lease.KeepAlive(ctx, id)
	case FailBefore:
		t.fire()
		if err := t.err(OpKeepAlive); !errors.Is(err, ErrClosed) {
			return nil, err
		}
		ch := make(chan *clientv3.LeaseKeepAliveResponse)
		close(ch)
		return ch, nil
	case HoldRequest:
		t.fire()
		if err := t.hold(ctx); err != nil {
			return nil, err
		}
		return l.Lease.KeepAlive(ctx, id)
	}
	ctx, cancel := context.WithCancel(ctx)
	in, err := l.Lease.KeepAlive(ctx, id)
	if err != nil {
		cancel()
		return nil, err
	}
	// As many as clientv3 keeps; more are dropped, as it does.
	out := make(chan *clientv3.LeaseKeepAliveResponse, clientv3.LeaseResponseChSize)
	started := l.f.spawn(func() {
		defer cancel()
		defer close(out)
		if t.rule.Do == LoseReply {
			if _, ok := next(ctx, l.f, in); ok {
				t.fire()
			}
			return
		}
		t.fire()
		if t.hold(ctx) != nil {
			return
		}
		for resp, ok := next(ctx, l.f, in); ok; resp, ok = next(ctx, l.f, in) {
			select {
			case out <- resp:
			default:
			}
		}
	})
	if !started {
		cancel()
		close(out)
	}
	return out, nil
}

// next receives from a stream; false means that the stream, its context or the
// test is over.
func next[T any](ctx context.Context, f *Faults, in <-chan T) (T, bool) {
	var none T
	select {
	case v, ok := <-in:
		return v, ok
	case <-ctx.Done():
	case <-f.done:
	}
	return none, false
}

// spawn starts a goroutine that close joins; false if the test is over.
func (f *Faults) spawn(run func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	f.wg.Go(run)
	return true
}
