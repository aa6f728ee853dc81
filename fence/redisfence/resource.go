package redisfence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/fence"
)

// Defaults of [Options].
const (
	DefaultAttempts   = 4
	DefaultOperations = 1000
)

// Options of [Open]. nil and the zero value work.
type Options struct {
	// Attempts is how often one call sends its script while the answer is lost, or Redis
	// asks to come back. It stands in for the client's MaxRetries, which our commands do not
	// heed. Zero means [DefaultAttempts], 1 never again.
	Attempts int

	// Operations is how many operation ids are kept, the newest ones. A repeat that comes
	// after so many others is not recognised any more. Zero means [DefaultOperations].
	Operations int

	// AnyOrder is for one hold with many writers at once: of the mark's own token every
	// sequence is accepted, as by [fence.JudgeAnyOrder].
	AnyOrder bool

	// AnySlot lets the keys of a change be anywhere. It is for a Redis that is no cluster
	// and will not become one; a cluster answers with an error.
	AnySlot bool

	// NoCheck keeps [Open] from asking Redis whether it evicts marks. It is for users that
	// may not ask (INFO memory): then make sure of it yourself.
	NoCheck bool
}

// Resource is the keys of one hash slot of a Redis, fenced by a mark in one of them. It is
// safe for concurrent use, starts no goroutine and needs no closing. It remembers the newest
// mark that it has seen.
type Resource struct {
	client     redis.UniversalClient
	lock       string
	keys       [3]string // the mark, and if there are any, the operations and their order
	slot       int
	attempts   int
	operations int
	apply      string // what an Apply asks fence.lua for
	judge      func(lock string, mark, s fence.Stamp) error

	mu   sync.Mutex
	seen state
}

var (
	_ fence.FencedResource[*Tx] = (*Resource)(nil)
	_ fence.Rebaser             = (*Resource)(nil)
)

// Open returns the resource whose mark is in the given key, guarded by the named lock. The
// key need not be there. The client stays the caller's to close.
//
// All keys of a change must be in the slot of the mark's: call it "{orders/42}:fence" if they
// are called "{orders/42}:state" or also orders/42 itself. Beside it there are two more,
// with ":operations" and ":order" behind the name, if operation ids are used.
//
// Errors: for a nil client, a [redis.Ring], and a client whose requests may take for ever;
// for a key beside which there can be no other; [fence.ErrBadToken] for a name that cannot
// be a lock; [ErrEvicts]; the client's own, and those of ctx.
func Open(ctx context.Context, client redis.UniversalClient, key, lock string, opts *Options) (*Resource, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := checkClient(client); err != nil {
		return nil, err
	}
	if err := fence.CheckLock(lock); err != nil {
		return nil, fmt.Errorf("redisfence: %w", err)
	}
	if opts.Attempts < 0 || opts.Operations < 0 {
		return nil, fmt.Errorf("redisfence: options cannot be negative: %+v", *opts)
	}
	operations, ok := beside(key, ":operations")
	order, _ := beside(key, ":order")
	if !ok {
		return nil, fmt.Errorf("redisfence: the key %.80q: there can be no other in its slot; give it a {tag}", key)
	}
	r := &Resource{client: client, lock: lock, keys: [3]string{key, operations, order}, slot: slot(key),
		attempts: cmp.Or(opts.Attempts, DefaultAttempts), operations: cmp.Or(opts.Operations, DefaultOperations),
		apply: "apply", judge: fence.Judge}
	if opts.AnySlot {
		r.slot = -1
	}
	if opts.AnyOrder {
		r.apply, r.judge = "any", fence.JudgeAnyOrder
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("redisfence: nothing was sent: %w", err)
	}
	if !opts.NoCheck {
		if err := r.checkEviction(ctx); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Apply implements [fence.FencedResource] in one round trip. change runs once, before the
// fence decides; what it notes down is dropped if the stamp is refused.
//
// Errors besides those of [fence.FencedResource]: [ErrChange], [ErrSlot], [ErrUnfit],
// [ErrDenied], [ErrFull], [ErrForeign] and [ErrWentBack], after which nothing was applied;
// [ErrTorn]; those of Redis and of a [Script], which are a [redis.Error].
func (r *Resource) Apply(ctx context.Context, s fence.Stamp, change func(ctx context.Context, tx *Tx) error) error {
	op := fence.OperationFrom(ctx)
	if op != nil {
		if err := op.Check(); err != nil {
			return err
		}
		op.SetResult(nil) // an earlier attempt that failed must not leave its answer behind
	}
	if err := fence.Judge(r.lock, fence.Stamp{}, s); err != nil {
		return r.unpresentable(ctx, s, err)
	}
	tx := &Tx{plan: plan{reserved: r.keys[:], slot: r.slot}}
	if err := change(ctx, tx); err != nil {
		return err
	}
	if tx.err != nil {
		return tx.err
	}
	if op == nil {
		c := r.newCall(r.apply, s, 0, len(tx.needs))
		return r.ask(ctx, cmp.Or(tx.script, usual), c, s, tx.keys, append(tx.args(nil), tx.words...))
	}
	c := r.newCall(r.apply, s, r.operations, len(tx.needs))
	kept, err := encodeOperation(c, s, op.Result())
	if err != nil {
		return err
	}
	args := append(tx.args([]any{op.ID(), kept}), tx.words...)
	return r.ask(ctx, cmp.Or(tx.script, usual), c, s, append(tx.keys, r.keys[1:]...), args)
}

// Claim implements [fence.FencedResource] in one round trip. It returns [ErrForeign],
// [ErrWentBack], [ErrDenied] and [ErrFull] besides.
func (r *Resource) Claim(ctx context.Context, t fence.Token) error {
	s := t.At(0)
	if err := fence.Judge(r.lock, fence.Stamp{}, s); err != nil {
		return r.unpresentable(ctx, s, err)
	}
	return r.ask(ctx, usual, r.newCall("claim", s, 0, 0), s, nil, nil)
}

// Mark implements [fence.FencedResource] in one round trip, to the master. It tells what
// there is, also if that is older than what this Resource has seen. It returns
// [ErrForeign] besides.
func (r *Resource) Mark(ctx context.Context, lock string) (fence.Stamp, error) {
	if err := fence.CheckLock(lock); err != nil {
		return fence.Stamp{}, fmt.Errorf("redisfence: %w", err)
	}
	if lock != r.lock {
		return fence.Stamp{}, fmt.Errorf("redisfence: mark of %q: %w", lock, &fence.RefusedError{Lock: r.lock, Reason: fence.ErrWrongLock})
	}
	mark, err := r.read(ctx)
	if err == nil && !mark.IsZero() && mark.Token().Lock() != r.lock {
		err = r.wrongLock(mark, fence.Stamp{})
	}
	if err != nil {
		return fence.Stamp{}, err
	}
	return mark, nil
}

func (r *Resource) read(ctx context.Context) (fence.Stamp, error) {
	a, _, err := r.send(ctx, usual, r.newCall("mark", fence.Stamp{}, 0, 0), nil, nil)
	switch {
	case errors.Is(err, ErrForeign):
		return fence.Stamp{}, r.foreign(err)
	case err != nil:
		return fence.Stamp{}, unread(ctx, "read the mark", err)
	}
	return a.mark, nil
}
