package natsfence

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/etcdfence/etcdfence/fence"
)

// What zero values in [Options] mean.
const (
	DefaultAttempts   = 16
	DefaultOperations = 100
	DefaultTimeout    = 5 * time.Second
)

// Options of [Open]. nil and the zero value work.
type Options struct {
	// Attempts is how often one call reads and writes when others keep replacing the value,
	// before it answers [fence.ErrContended]. Zero means [DefaultAttempts].
	Attempts int

	// Operations is how many operation ids the value keeps, the newest ones; each takes its
	// own bytes, its result's and some 150 more, of the value's. A repeat that comes after so
	// many others is not recognised any more. Zero means [DefaultOperations].
	Operations int

	// Timeout is how long one request to JetStream may take, of which a call makes several.
	// It matters when an answer is lost: the client is not told, and would wait as long as
	// ctx lasts. Zero means [DefaultTimeout].
	Timeout time.Duration

	// AnyOrder is for one hold with many writers at once: of the mark's own token every
	// sequence is accepted, as by [fence.JudgeAnyOrder]. The writers replace one value, so
	// they still go one after another.
	AnyOrder bool
}

// Resource is one key of a JetStream bucket, fenced by a mark in its value. It is safe for
// concurrent use, starts no goroutine and needs no closing. It remembers the value that it
// wrote last.
type Resource struct {
	conn     *nats.Conn
	kv       jetstream.KeyValue
	key      string
	lock     string
	attempts int
	keep     int
	timeout  time.Duration
	judge    func(lock string, mark, s fence.Stamp) error

	getSubject string // of a read, and what it says
	getRequest []byte

	last atomic.Pointer[entry] // the value that was written last, nil if that is not known
	seen atomic.Uint64         // the newest revision that was read or written
}

var (
	_ fence.FencedResource[*Tx] = (*Resource)(nil)
	_ fence.Rebaser             = (*Resource)(nil)
)

// Open returns the resource in one key of a bucket, guarded by the named lock. The key need
// not be there; the bucket must, and Open asks for its configuration. The connection stays
// the caller's to close.
//
// Errors: for a nil js, and a bucket or key that is not a name in JetStream;
// [fence.ErrBadToken] for a name that cannot be a lock; [ErrBucket];
// [jetstream.ErrBucketNotFound]; the client's own, and those of ctx.
func Open(ctx context.Context, js jetstream.JetStream, bucket, key, lock string, opts *Options) (*Resource, error) {
	if opts == nil {
		opts = &Options{}
	}
	if js == nil {
		return nil, errors.New("natsfence: js is nil")
	}
	if err := fence.CheckLock(lock); err != nil {
		return nil, fmt.Errorf("natsfence: %w", err)
	}
	if !validKey(key) {
		return nil, fmt.Errorf("natsfence: %w: %.80q", jetstream.ErrInvalidKey, key)
	}
	if opts.Attempts < 0 || opts.Operations < 0 || opts.Timeout < 0 {
		return nil, fmt.Errorf("natsfence: options cannot be negative: %+v", *opts)
	}
	kv, err := openBucket(ctx, js, bucket)
	if err != nil {
		return nil, err
	}
	request, err := json.Marshal(map[string]string{"last_by_subj": "$KV." + bucket + "." + key})
	if err != nil {
		return nil, err
	}
	r := &Resource{conn: js.Conn(), kv: kv, key: key, lock: lock,
		getSubject: apiPrefix(js.Options()) + "STREAM.MSG.GET.KV_" + bucket, getRequest: request,
		attempts: cmp.Or(opts.Attempts, DefaultAttempts), keep: cmp.Or(opts.Operations, DefaultOperations),
		timeout: cmp.Or(opts.Timeout, DefaultTimeout), judge: fence.Judge}
	if opts.AnyOrder {
		r.judge = fence.JudgeAnyOrder
	}
	return r, nil
}

// Apply implements [fence.FencedResource]. It is one round trip as long as this Resource
// wrote the value last, two if not, and two more each time that somebody else was faster.
// change runs on the value that is going to be replaced, so it may run several times.
//
// Errors besides those of [fence.FencedResource]: [ErrDeleted], [ErrForeign],
// [ErrTooLarge]. [fence.ErrContended] means that others keep replacing the value, or that
// the stream has no leader.
func (r *Resource) Apply(ctx context.Context, s fence.Stamp, change func(ctx context.Context, tx *Tx) error) error {
	op := fence.OperationFrom(ctx)
	if op != nil {
		if err := op.Check(); err != nil {
			return err
		}
	}
	return r.swap(ctx, true, func(found entry) (value, error) {
		if err := r.admit(found, s, r.judge); err != nil {
			return value{}, err
		}
		next := found.value
		if op != nil {
			if err := found.done(op); err != nil {
				return value{}, err
			}
			op.SetResult(nil) // an earlier attempt that failed must not leave its answer behind
		}
		tx := &Tx{body: found.body, exists: found.revision > 0}
		if err := change(ctx, tx); err != nil {
			return value{}, err
		}
		next.body = tx.body
		if op != nil {
			next.operations = record(found.operations, operation{op.ID(), s, op.Result()}, r.keep)
		}
		if next.mark.Compare(s) < 0 { // always, but in any order
			next.mark = s
		}
		return next, nil
	})
}

// Claim implements [fence.FencedResource] with a read and a write; a claim that was made
// before is a read. It returns [ErrDeleted] and [ErrForeign] besides.
func (r *Resource) Claim(ctx context.Context, t fence.Token) error {
	return r.swap(ctx, false, func(found entry) (value, error) {
		if !t.IsZero() && t == found.mark.Token() {
			return value{}, errUnchanged // claimed before, or written already
		}
		if err := r.admit(found, t.At(0), fence.Judge); err != nil {
			return value{}, err
		}
		next := found.value
		next.mark = t.At(0)
		return next, nil
	})
}

// admit judges a stamp against what was found.
func (r *Resource) admit(found entry, s fence.Stamp, rule func(lock string, mark, s fence.Stamp) error) error {
	if err := fence.Judge(r.lock, fence.Stamp{}, s); err != nil && found.err != nil {
		return err // no stamp of ours, whatever is there
	}
	if err := r.ours(found, s); err != nil {
		return err
	}
	return rule(r.lock, found.mark, s)
}

// ours is nil if there is a mark of this lock, or the key never was.
func (r *Resource) ours(found entry, s fence.Stamp) error {
	if found.err != nil {
		return found.err
	}
	if mark := found.mark; !mark.IsZero() && mark.Token().Lock() != r.lock {
		return fmt.Errorf("natsfence: the key %q is guarded by another lock: %w", r.key,
			&fence.RefusedError{Lock: mark.Token().Lock(), Presented: s, Mark: mark, Reason: fence.ErrWrongLock})
	}
	return nil
}

// Mark implements [fence.FencedResource] with a read. It returns [ErrDeleted] and
// [ErrForeign] besides.
func (r *Resource) Mark(ctx context.Context, lock string) (fence.Stamp, error) {
	if err := fence.CheckLock(lock); err != nil {
		return fence.Stamp{}, fmt.Errorf("natsfence: %w", err)
	}
	if lock != r.lock {
		return fence.Stamp{}, fmt.Errorf("natsfence: mark of %q: %w", lock, &fence.RefusedError{Lock: r.lock, Reason: fence.ErrWrongLock})
	}
	found, err := r.read(ctx)
	if err == nil {
		err = r.ours(*found, fence.Stamp{})
	}
	if err != nil {
		return fence.Stamp{}, err
	}
	return found.mark, nil
}

// Body reads the body without a fence, nil if nothing was written yet. After a claim by
// this Resource what it returns stays true until a newer holder claims, or this one writes.
// It returns [ErrDeleted], [ErrForeign] and the client's own errors.
func (r *Resource) Body(ctx context.Context) ([]byte, error) {
	found, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	return found.body, r.ours(*found, fence.Stamp{})
}

func (r *Resource) remembered(trusting bool) *entry {
	if !trusting {
		return nil
	}
	return r.last.Load()
}

// remember keeps what was written, unless a newer one is known.
func (r *Resource) remember(e *entry) {
	for {
		seen := r.seen.Load()
		if e.revision < seen {
			return
		}
		if r.seen.CompareAndSwap(seen, e.revision) {
			r.last.Store(e)
			return
		}
	}
}

func (r *Resource) forget() { r.last.Store(nil) }

// newCall is a word for one call: see value.
func newCall() string { return rand.Text() }
