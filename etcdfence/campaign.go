package etcdfence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
)

// maxValue is below what etcd takes with default settings (1.5 MiB a request).
const maxValue = 1 << 20

// Leadership is a hold that was won by a campaign: a [Hold] with a value for
// onlookers to read. Releasing it is resigning. Give its Hold to [Bind], so that what
// the leader writes is fenced: a leadership by itself stops nobody's late write.
type Leadership struct {
	*Hold
	turn   chan struct{} // holds one value while a proclamation is under way
	newest int64         // the key's mod revision, as far as known; whoever has the turn has it
}

// Campaign waits until it leads the named election or ctx is done, and lets
// onlookers see the value meanwhile: any bytes, at most 1 MiB, such as the address
// at which the leader serves. It is Lock with a value of the caller's: an election and
// a lock of the same name are one thing, with one queue, and so is a
// concurrency.Election of the same keys (see [Options.KeyPrefix]).
//
// Bounds, errors and what happens behind them are those of [Adapter.Lock]; a value
// that is too long is [ErrBadValue]. Unlike etcd's own Campaign it never reports a
// leadership whose key is not in etcd.
func (a *Adapter) Campaign(ctx context.Context, name, value string) (*Leadership, error) {
	if err := checkValue(value); err != nil {
		return nil, err
	}
	h, err := a.acquire(ctx, name, value, false)
	if err != nil {
		return nil, err
	}
	return &Leadership{Hold: h, turn: make(chan struct{}, 1), newest: h.revision.Load()}, nil
}

func checkValue(value string) error {
	if len(value) > maxValue {
		return fmt.Errorf("%w: %d bytes, at most %d are possible", ErrBadValue, len(value), maxValue)
	}
	return nil
}

// Proclaim replaces the value, without another election. After nil onlookers see the
// new value, and no earlier proclamation can replace it any more, also not one whose
// outcome was unknown and whose request is still on its way.
//
// A request whose reply is lost is sent again while ctx and the leadership last.
// Errors: a [LostError] if the leadership was lost, or [ErrNotHeld] if it was released,
// and then nobody else's value was touched; [ErrUnknownOutcome] if ctx or the
// leadership ended while an answer was missing; ctx's; [ErrBadValue]; the client's.
func (l *Leadership) Proclaim(ctx context.Context, value string) error {
	if err := checkValue(value); err != nil {
		return err
	}
	ctx, stop := l.during(ctx)
	defer stop()
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("etcdfence: waiting to proclaim under %q: %w", l.lock, context.Cause(ctx))
	}
	defer func() { <-l.turn }()
	var missing error // the answer to a request that was sent
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		err := l.Err()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return l.unproclaimed(err, missing)
		}
		done, err := l.propose(ctx, value)
		switch {
		case done:
			return nil
		case err == nil:
			continue // another value had come in between
		case errors.Is(err, ErrLost), errors.Is(err, ErrNotHeld):
			return l.unproclaimed(err, nil) // with the key went whatever is still on its way
		case refusedByServer(err):
			return l.unproclaimed(err, missing)
		}
		missing = err
		if noSpace(err) || !l.a.idle(ctx, wait) {
			return l.unproclaimed(context.Cause(ctx), missing)
		}
	}
}

func (l *Leadership) unproclaimed(err, missing error) error {
	switch {
	case missing == nil:
		return fmt.Errorf("etcdfence: proclaiming under %q: %w", l.lock, err)
	case err == nil:
		return fmt.Errorf("etcdfence: proclaiming under %q: %w: %w", l.lock, ErrUnknownOutcome, missing)
	}
	return fmt.Errorf("etcdfence: proclaiming under %q: %w: %w: %w", l.lock, ErrUnknownOutcome, err, missing)
}

// noSpace reports whether etcd gave an answer that leaves the outcome open and that
// asking again does not change (see refusedByServer).
func noSpace(err error) bool {
	var answer rpctypes.EtcdError
	return errors.As(err, &answer) && answer.Code() == codes.ResourceExhausted
}

// propose writes the value if the key is as it was last seen. A later leader's key has
// another mod revision, too. By the create revision, which etcd's own Proclaim compares,
// a proclamation that was given up, but is still on its way, would replace a later one.
func (l *Leadership) propose(ctx context.Context, value string) (done bool, err error) {
	asSeen := clientv3.Compare(clientv3.ModRevision(l.key), "=", l.newest)
	resp, err := l.a.client.Txn(ctx).If(asSeen).
		Then(clientv3.OpPut(l.key, value, clientv3.WithLease(l.lease.id))).
		Else(clientv3.OpGet(l.key)).Commit()
	if errors.Is(err, rpctypes.ErrLeaseNotFound) { // somebody had taken the key off the lease
		l.lease.die(ErrLeaseGone)
		return false, l.Err()
	}
	if err != nil {
		return false, err
	}
	if resp.Succeeded {
		l.newest = resp.Header.Revision
		return true, nil
	}
	kvs := resp.Responses[0].GetResponseRange().Kvs
	if len(kvs) == 0 || kvs[0].CreateRevision != l.revision.Load() {
		l.keyGone()
		return false, l.Err()
	}
	l.newest = kvs[0].ModRevision
	return string(kvs[0].Value) == value, nil
}
