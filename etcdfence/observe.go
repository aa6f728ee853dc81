package etcdfence

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Observe follows the named election: first who leads now, then every new leader,
// every proclamation and every vacancy, in the order in which they came to be in
// etcd. Each pair is an answer that [Adapter.Leader] would have given: a leader and
// nil, or the zero Leader and [ErrNoLeader] while nobody leads. Any other error is the
// last pair: ctx's, [ErrClosed], [ErrBadName], [ErrForeignKey], or that of a missing
// permission. So a loop that looks at err ends knowing why.
//
//	for leader, err := range locks.Observe(ctx, "scheduler") {
//		switch {
//		case errors.Is(err, etcdfence.ErrNoLeader):
//			// vacant
//		case err != nil:
//			return err
//		default:
//			// leader.Value
//		}
//	}
//
// It waits as long as it takes while etcd cannot be reached, and misses nothing by
// that, unless etcd has compacted its history meanwhile or came back from a backup:
// then it goes on with the latest state, and what was in between is skipped. To notice
// a backup it reads the queue once in a TTL, or every 30 s if that is longer. A loop that
// is slow gets everything, late. Everything that Observe starts ends with the loop.
func (a *Adapter) Observe(ctx context.Context, name string) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		prefix, err := a.set.keyPrefix(name)
		if err == nil {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(a.ctx, func() { cancel(ErrClosed) })()
			o := &onlooker{a: a, name: name, prefix: prefix, yield: yield}
			err = o.run(ctx)
		}
		if !errors.Is(err, errEnough) {
			yield(Leader{}, err)
		}
	}
}

var (
	errEnough = errors.New("etcdfence: the loop ended")
	errBlind  = errors.New("etcdfence: the watch follows another history than etcd's")
)

// onlooker is one loop over Observe. It keeps a replica of the queue, so that it can
// tell also of a leader who was gone again before anybody could have asked.
type onlooker struct {
	a            *Adapter
	name, prefix string
	yield        func(Leader, error) bool

	q    *queue // nil: look first
	told bool
	last Leader // what was told

	moved    bool // an event came since the last check
	differed bool // the last check found another state than q's
}

// run returns why the loop ends.
func (o *onlooker) run(ctx context.Context) error {
	for {
		err := o.look(ctx)
		if err == nil {
			err = o.follow(ctx)
		}
		switch {
		case errors.Is(err, errEnough):
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("etcdfence: observing %q: %w", o.name, context.Cause(ctx))
		case errors.Is(err, rpctypes.ErrCompacted), errors.Is(err, errBlind):
			o.q = nil // go on with the latest state
		case errors.Is(err, ErrForeignKey), refusedByServer(err):
			return fmt.Errorf("etcdfence: observing %q: %w", o.name, err)
		}
		o.a.log.Debug("observing again", zap.String("lock", o.name), zap.NamedError("cause", err))
		if o.q != nil {
			_ = o.a.idle(ctx, watchAgain)
		}
	}
}

// period is how often an onlooker makes sure that its watch tells the truth.
func (o *onlooker) period() time.Duration { return min(o.a.set.asked(), 30*time.Second) }

// look reads the queue: to begin with it, or, after a watch failed, to find out if
// the next one can go on where that ended.
//
// A watch that etcd serves from a revision in its future is silent until etcd gets
// there: so it is after a restore from a backup, and nothing tells. But a read then
// answers from before what was seen, or goes on differing while no event comes.
func (o *onlooker) look(ctx context.Context) error {
	rctx, cancel := context.WithTimeout(ctx, o.period())
	defer cancel()
	resp, err := o.a.client.Get(rctx, o.prefix+"/", clientv3.WithPrefix())
	if err != nil {
		return err
	}
	now := newQueue(o.name, o.prefix, resp)
	if o.q == nil {
		o.q, o.differed = now, false
		return o.tell()
	}
	differs := o.q.differs(now)
	if now.revision < o.q.revision || differs && o.differed && !o.moved {
		return errBlind
	}
	o.differed, o.moved = differs, false
	return nil
}

// follow serves one watch until it fails.
func (o *onlooker) follow(ctx context.Context) error {
	// A member that has lost its cluster must end the watch: it would be silent.
	wctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	events := o.a.client.Watch(wctx, o.prefix+"/", clientv3.WithPrefix(), clientv3.WithRev(o.q.revision+1))
	check := time.NewTimer(o.period())
	defer check.Stop()
	for {
		var err error
		select {
		case resp, ok := <-events:
			if !ok {
				return errors.New("the watch was closed")
			}
			if err = resp.Err(); err == nil {
				err = o.take(resp.Events)
			}
		case <-check.C:
			if err = o.look(ctx); err != nil && !errors.Is(err, errBlind) && !refusedByServer(err) {
				err = nil // no answer says nothing about the watch
			}
			check.Reset(o.period())
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// take tells what the events have changed, revision by revision: what one
// transaction did is one change.
func (o *onlooker) take(events []*clientv3.Event) error {
	for i, ev := range events {
		o.moved = true
		o.q.apply(ev)
		if i+1 < len(events) && events[i+1].Kv.ModRevision == ev.Kv.ModRevision {
			continue
		}
		if err := o.tell(); err != nil {
			return err
		}
	}
	return nil
}

func (o *onlooker) tell() error {
	leader, err := o.q.leader()
	switch {
	case errors.Is(err, ErrForeignKey):
		return err
	case o.told && leader == o.last:
		return nil
	}
	o.told, o.last = true, leader
	if !o.yield(leader, err) {
		return errEnough
	}
	return nil
}
