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
	"github.com/etcdfence/etcdfence/fence/internal/stamped"
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
	rules    stamped.Rules
	attempts int
	timeout  time.Duration

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
	r := &Resource{conn: js.Conn(), kv: kv, key: key,
		rules: stamped.Rules{Lock: lock, Where: fmt.Sprintf("natsfence: the key %q", key),
			Keep: cmp.Or(opts.Operations, DefaultOperations), AnyOrder: opts.AnyOrder},
		getSubject: apiPrefix(js.Options()) + "STREAM.MSG.GET.KV_" + bucket, getRequest: request,
		attempts: cmp.Or(opts.Attempts, DefaultAttempts), timeout: cmp.Or(opts.Timeout, DefaultTimeout)}
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
	edit, err := r.rules.Apply(ctx, s, func(ctx context.Context, body []byte, exists bool) ([]byte, error) {
		tx := &Tx{body: body, exists: exists}
		err := change(ctx, tx)
		return tx.body, err
	})
	if err != nil {
		return err
	}
	return r.swap(ctx, true, edit)
}

// Claim implements [fence.FencedResource] with a read and a write; a claim that was made
// before is a read. It returns [ErrDeleted] and [ErrForeign] besides.
func (r *Resource) Claim(ctx context.Context, t fence.Token) error {
	return r.swap(ctx, false, r.rules.Claim(t))
}

// Mark implements [fence.FencedResource] with a read. It returns [ErrDeleted] and
// [ErrForeign] besides.
func (r *Resource) Mark(ctx context.Context, lock string) (fence.Stamp, error) {
	if err := r.rules.CheckMark(lock); err != nil {
		return fence.Stamp{}, fmt.Errorf("natsfence: %w", err)
	}
	found, err := r.read(ctx)
	if err == nil {
		err = r.rules.Ours(found.Found, fence.Stamp{})
	}
	if err != nil {
		return fence.Stamp{}, err
	}
	return found.Mark, nil
}

// Body reads the body without a fence, nil if nothing was written yet. After a claim by
// this Resource what it returns stays true until a newer holder claims, or this one writes.
// It returns [ErrDeleted], [ErrForeign] and the client's own errors.
func (r *Resource) Body(ctx context.Context) ([]byte, error) {
	found, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	return found.Found.Body, r.rules.Ours(found.Found, fence.Stamp{})
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
