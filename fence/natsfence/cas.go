package natsfence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/internal/stamped"
)

// The atomic step: mark and body are one value of one key, and it is replaced only if the
// key still has the revision at which it was read. Whoever loses that comparison reads,
// judges and changes anew.
//
//	read      mark, body, revision
//	judge     the mark against the stamp        fence.Judge
//	change    the body
//	update    if the revision is the same       JetStream decides; 10071 or 10164 if not
//
// The read can be left out if the value at hand is the one that this Resource wrote last:
// if it is no longer the newest, the update does not happen.

// entry is what was found at a revision. Revision 0 is that of a key which never was.
type entry struct {
	stamped.Found
	revision uint64
}

// written is the entry that an update has made.
func written(v stamped.Value, revision uint64) *entry {
	return &entry{Found: stamped.Found{Value: v, Exists: true}, revision: revision}
}

// swap replaces the value by what edit makes of it. An edit that fails on a value from
// memory is asked again on the newest one: its error must be of what there is. trusting
// says that the value from memory may be used.
func (r *Resource) swap(ctx context.Context, trusting bool, edit stamped.Edit) error {
	call := newCall()
	for attempt := range r.attempts {
		if err := pause(ctx, attempt); err != nil {
			return err
		}
		found := r.remembered(trusting && attempt == 0)
		fromMemory := found != nil
		if !fromMemory {
			var err error
			if found, err = r.read(ctx); err != nil {
				return err
			}
			if found.Call == call {
				return nil // our own update, which the client has sent twice
			}
		}
		next, err := edit(found.Found)
		if err != nil && fromMemory {
			if found, err = r.read(ctx); err != nil {
				return err
			}
			next, err = edit(found.Found)
		}
		if errors.Is(err, stamped.ErrUnchanged) {
			return nil
		}
		if err != nil {
			return err
		}
		next.Call = call
		done, err := r.update(ctx, next, found.revision)
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("natsfence: %w: others were faster %d times", fence.ErrContended, r.attempts)
}

// update returns false without an error if the revision is no longer the newest.
func (r *Resource) update(ctx context.Context, next stamped.Value, revision uint64) (done bool, err error) {
	data, err := next.Encode()
	if err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("natsfence: nothing was sent: %w", err)
	}
	// The client waits as long as its context lives: a lost answer is not told to it.
	sending, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	got, err := r.kv.Update(sending, r.key, data, revision)
	switch {
	case err == nil:
		r.remember(written(next, got))
		return true, nil
	case lostCompare(err):
		return false, nil
	case hasCode(err, storeFailed):
		return r.settle(ctx, next, err)
	}
	r.forget()
	return false, sent(ctx, err)
}

// settle looks whether an update was stored that the store has failed. The answer comes
// when that is decided, so what is not there will not come.
func (r *Resource) settle(ctx context.Context, next stamped.Value, err error) (done bool, _ error) {
	r.forget()
	found, rerr := r.read(ctx)
	switch {
	case rerr != nil:
		return false, sent(ctx, err)
	case found.Call == next.Call:
		return true, nil
	}
	return false, fmt.Errorf("natsfence: write refused, nothing was applied: %w", err)
}

// read returns the newest entry. A leader that was deposed and does not know it yet may
// answer with an older one: not for what this Resource has seen already.
func (r *Resource) read(ctx context.Context) (*entry, error) {
	for attempt := 0; ; attempt++ {
		if err := pause(ctx, attempt); err != nil {
			return nil, err
		}
		e, err := r.ask(ctx)
		if err != nil {
			return nil, err
		}
		seen := r.seen.Load()
		switch {
		case e.revision >= seen:
			r.seen.CompareAndSwap(seen, e.revision)
			return e, nil
		case attempt < patience:
		case e.revision == 0:
			return &entry{Found: stamped.Found{Err: ErrDeleted}}, nil // not even a marker is left
		default:
			return nil, fmt.Errorf("%w: the key %q is at %d, and was at %d", ErrWentBack, r.key, e.revision, seen)
		}
	}
}

// patience is how many answers a deposed leader may give, in about a second.
const patience = 40

// pause lets others get ahead, and ends with the context.
func pause(ctx context.Context, attempt int) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("natsfence: nothing was sent: %w", err)
	}
	if attempt == 0 {
		return nil
	}
	timer := time.NewTimer(rand.N(min(time.Millisecond<<min(attempt, 10), 50*time.Millisecond)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("natsfence: nothing was applied: %w", ctx.Err())
	}
}
