package etcdkv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/fence"
)

// Options of [New]. nil and the zero value work.
type Options struct {
	// LockKey, if the tokens come from the cluster that the resource is in, returns the
	// key of a token's hold in the lock's queue, "" for a token that has none: see
	// [LockKey]. Then a write or a claim is accepted only while that key exists with the
	// token's revision, compared in the same step: a hold that is over is refused at once
	// with [ErrOver], before anybody newer has come. nil: only the mark is compared.
	LockKey func(fence.Token) string

	// AnyOrder is for one hold with many writers at once: of the mark's own token every
	// sequence is accepted, as by [fence.JudgeAnyOrder]. What a change has read is compared
	// all the same, so writers that read what they change do not undo each other.
	AnyOrder bool
}

// Resource is what lies under a prefix of etcd, fenced by a mark beside it. It is safe for
// concurrent use, starts no goroutine and needs no closing.
type Resource struct {
	keys
	client   *clientv3.Client
	guard    string // the lock
	lockKey  func(fence.Token) string
	anyOrder bool
}

var (
	_ fence.FencedResource[*Tx] = (*Resource)(nil)
	_ fence.Rebaser             = (*Resource)(nil)
)

// maxPrefix leaves room for the fence's own keys in whatever etcd's tools can show.
const maxPrefix = 1024

// New returns the resource under a prefix, guarded by the named lock. The client stays the
// caller's to close. The data are the keys that begin with the prefix and a slash; the
// fence's own begin with the prefix and ".fence/", and nobody else may write to either.
// Trailing slashes of the prefix do not count.
//
// It sends nothing. It returns an error for a nil client, [ErrBadKey] for a prefix that
// is empty, too long or could name a fence's own keys, and [fence.ErrBadToken] for a name
// that cannot be a lock.
func New(client *clientv3.Client, prefix, lock string, opts *Options) (*Resource, error) {
	if opts == nil {
		opts = &Options{}
	}
	if client == nil {
		return nil, errors.New("etcdkv: the client is nil")
	}
	prefix = strings.TrimRight(prefix, "/")
	switch {
	case prefix == "" || len(prefix) > maxPrefix:
		return nil, fmt.Errorf("%w: the prefix %.80q has %d bytes besides slashes, not 1 to %d", ErrBadKey, prefix, len(prefix), maxPrefix)
	case isReserved(prefix):
		return nil, fmt.Errorf("%w: the prefix %.80q: names that end in %q are the fence's own", ErrBadKey, prefix, reserved)
	}
	if err := fence.CheckLock(lock); err != nil {
		return nil, fmt.Errorf("etcdkv: %w", err)
	}
	return &Resource{keys: keysOf(prefix), client: client, guard: lock, lockKey: opts.LockKey, anyOrder: opts.AnyOrder}, nil
}

// Claim implements [fence.FencedResource] with one round trip. It returns [ErrOver] and
// [ErrDamaged] besides.
func (r *Resource) Claim(ctx context.Context, t fence.Token) error {
	s := t.At(0)
	lockKey, err := r.presentable(ctx, s)
	if err != nil {
		return err
	}
	nonce := newNonce()
	resp, err := r.claim(r.client.Txn(ctx), s, nonce, lockKey).Commit()
	if err != nil {
		return r.settle(ctx, s, nonce, "claim", err)
	}
	if resp.Succeeded {
		return nil
	}
	inner := resp.Responses[0].GetResponseTxn()
	if inner.Succeeded {
		return nil
	}
	f, err := r.read(inner.Responses, lockKey, "")
	if err != nil {
		return err
	}
	err = r.refused(f, s, lockKey, fence.Judge)
	if errors.Is(err, fence.ErrReplayed) {
		err = r.over(f, s, lockKey) // claimed before, or written already: the mark is where it must be
	}
	return err
}

// Mark implements [fence.FencedResource] with a linearizable read. It returns [ErrDamaged]
// besides.
func (r *Resource) Mark(ctx context.Context, lock string) (fence.Stamp, error) {
	if err := fence.CheckLock(lock); err != nil {
		return fence.Stamp{}, fmt.Errorf("etcdkv: %w", err)
	}
	if lock != r.guard {
		return fence.Stamp{}, fmt.Errorf("etcdkv: mark of %q: %w", lock, &fence.RefusedError{Lock: r.guard, Reason: fence.ErrWrongLock})
	}
	f, err := r.look(ctx, "", "")
	return f.mark, err
}

// Get reads one key of the data without a fence, and whether it is there. After a claim
// what it returns stays true until a newer holder claims, or this one writes. It returns
// [ErrBadKey] and the client's own errors.
func (r *Resource) Get(ctx context.Context, key string) (value string, ok bool, err error) {
	if err := checkKey(key); err != nil {
		return "", false, err
	}
	if err := r.ready(ctx); err != nil {
		return "", false, err
	}
	resp, err := r.client.Get(ctx, r.data+key)
	if err != nil {
		return "", false, fmt.Errorf("etcdkv: read %q: %w", key, err)
	}
	for _, kv := range resp.Kvs {
		return string(kv.Value), true, nil
	}
	return "", false, nil
}

// presentable is what can be said about a stamp without a mark. It returns the key of the
// hold, "" if it is not to be compared.
func (r *Resource) presentable(ctx context.Context, s fence.Stamp) (lockKey string, err error) {
	if err := fence.Judge(r.guard, fence.Stamp{}, s); err != nil {
		return "", err
	}
	if r.lockKey != nil {
		if lockKey = r.lockKey(s.Token()); lockKey == "" {
			return "", fmt.Errorf("etcdkv: %w: the owner of %v, %q, names no key of a lock in etcd", fence.ErrBadToken, s, s.Token().Owner())
		}
	}
	return lockKey, r.ready(ctx)
}

// ready returns an error if nothing can be sent.
func (r *Resource) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("etcdkv: nothing was sent: %w", err)
	}
	if err := r.client.Ctx().Err(); err != nil {
		return fmt.Errorf("etcdkv: nothing was sent: the client is closed: %w", err)
	}
	return nil
}

// look reads the facts by themselves.
func (r *Resource) look(ctx context.Context, lockKey, operation string) (found, error) {
	if err := r.ready(ctx); err != nil {
		return found{}, err
	}
	resp, err := r.client.Txn(ctx).Then(r.facts(lockKey, operation)...).Commit()
	if err != nil {
		return found{}, fmt.Errorf("etcdkv: read the mark: %w", err)
	}
	return r.read(resp.Responses, lockKey, operation)
}

// refused explains a refusal; nil if neither the mark nor the lock forbids s.
func (r *Resource) refused(f found, s fence.Stamp, lockKey string, rule func(lock string, mark, s fence.Stamp) error) error {
	if !f.mark.IsZero() && f.mark.Token().Lock() != r.guard {
		return fmt.Errorf("etcdkv: %q is guarded by another lock: %w", r.data,
			&fence.RefusedError{Lock: f.mark.Token().Lock(), Presented: s, Mark: f.mark, Reason: fence.ErrWrongLock})
	}
	if err := rule(r.guard, f.mark, s); err != nil {
		return err
	}
	return r.over(f, s, lockKey)
}

// over is the refusal of a hold whose key is gone.
func (r *Resource) over(f found, s fence.Stamp, lockKey string) error {
	if lockKey == "" || f.created == s.Token().Revision() {
		return nil
	}
	return &OverError{Key: lockKey, Created: f.created,
		Refused: &fence.RefusedError{Lock: r.guard, Presented: s, Mark: f.mark, Reason: fence.ErrStale}}
}

// settle names the error of a Txn that was sent. After "no space" it finds out whether it
// was applied: the client need not be told to repeat what cannot succeed.
func (r *Resource) settle(ctx context.Context, s fence.Stamp, nonce, what string, err error) error {
	if !errors.Is(err, rpctypes.ErrNoSpace) {
		return sent(what, err)
	}
	switch f, lerr := r.look(ctx, "", ""); {
	case lerr == nil && f.nonce == nonce:
		return nil
	case lerr == nil && f.mark.Compare(s) < 0: // marks do not go down
		return fmt.Errorf("etcdkv: %s refused, nothing was applied: %w", what, err)
	}
	return sent(what, err)
}

// newNonce is a word for one call: see keys.
func newNonce() string { return rand.Text() }
