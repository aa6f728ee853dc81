package etcdfence

import (
	"errors"
	"fmt"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/fence"
)

// Errors of the issuing side. Decide with [errors.Is]. What a resource answers is
// in package fence.
var (
	// ErrLocked is returned when TryLock finds the lock held or queued for, by this
	// process or another. Try later, or use Lock to wait. It matches
	// [concurrency.ErrLocked] too.
	ErrLocked = fmt.Errorf("etcdfence: locked by another holder (%w)", concurrency.ErrLocked)

	// ErrLost is returned when a hold, or a place in the queue, ended without a
	// release; [LostError] has the cause. Stop working under it and acquire again if
	// the work is still wanted. What it wrote until a newer holder claimed the
	// resource stands.
	ErrLost = errors.New("etcdfence: lost")

	// ErrLeaseGone is the cause of a loss when etcd no longer knows the lease: it ran
	// out or was revoked.
	ErrLeaseGone = errors.New("etcdfence: the lease expired or was revoked")

	// ErrKeyDeleted is the cause of a loss when the lease lives but the lock's key is
	// gone: somebody deleted it.
	ErrKeyDeleted = errors.New("etcdfence: the lock's key was deleted")

	// ErrDeadline is the cause of a loss when the lease could not be renewed in time,
	// by this process's clock. etcd may still show the key for a moment.
	ErrDeadline = errors.New("etcdfence: the lease was not renewed before its local deadline")

	// ErrNotHeld is returned when a hold is over, by a release or by a loss. A late
	// release gets it too, and has then touched nothing. Nothing needs to be done.
	ErrNotHeld = errors.New("etcdfence: not held")

	// ErrClosed is returned when the adapter was closed. Make a new one.
	ErrClosed = errors.New("etcdfence: the adapter is closed")

	// ErrForeignKey is returned when a key that no lock recipe made lies under the
	// lock's prefix, where it would be waited for without end; [ForeignKeyError] names
	// it. Delete that key, or give the lock another name or prefix.
	ErrForeignKey = errors.New("etcdfence: foreign key under the lock's prefix")

	// ErrBadName is returned when a lock name, a prefix or an owner label is empty, too
	// long, not UTF-8 or has control characters. It matches [fence.ErrBadToken] too.
	ErrBadName = fmt.Errorf("etcdfence: bad name (%w)", fence.ErrBadToken)

	// ErrBadValue is returned when the value of a candidate or leader is longer than
	// 1 MiB. Put what it says elsewhere, and proclaim where.
	ErrBadValue = errors.New("etcdfence: the value is too long")

	// ErrNoLeader is returned to onlookers while nobody leads the election. Look again
	// later, or use Observe to hear of the next one. It matches
	// [concurrency.ErrElectionNoLeader] too.
	ErrNoLeader = fmt.Errorf("etcdfence: nobody leads (%w)", concurrency.ErrElectionNoLeader)

	// ErrUnknownOutcome is returned when a request's reply was lost, so that it may or
	// may not have been carried out. The adapter goes on cleaning up in the background;
	// a lock is free again within one TTL at the latest. It is [fence.ErrUnknownOutcome].
	ErrUnknownOutcome = fence.ErrUnknownOutcome

	// ErrRolledBack is returned when a resource refuses a hold that etcd confirms as the
	// current one: etcd's revisions went back, as after a restore from a backup, or the
	// resource was used with another cluster. No retry helps. Raise Options.Epoch, in
	// every process that uses the lock, above every epoch used before. It matches
	// [fence.ErrStale] too.
	ErrRolledBack = fmt.Errorf("etcdfence: the resource has accepted a newer generation than the current holder's; "+
		"if etcd was restored from a backup, raise Options.Epoch everywhere (%w)", fence.ErrStale)
)

// LostError says which hold was lost and why. It matches [ErrLost] and its Cause
// under [errors.Is].
type LostError struct {
	Lock  string      // the lock's name
	Token fence.Token // the hold's token; zero if it was lost while still queueing
	Cause error       // ErrLeaseGone, ErrKeyDeleted, ErrDeadline, ErrClosed, or a resource's refusal
}

// Error names the lock, the token and the cause.
func (e *LostError) Error() string {
	if e.Token.IsZero() {
		return fmt.Sprintf("etcdfence: place in the queue of %q lost: %v", e.Lock, e.Cause)
	}
	return fmt.Sprintf("etcdfence: hold %v lost: %v", e.Token, e.Cause)
}

// Unwrap returns [ErrLost] and the cause.
func (e *LostError) Unwrap() []error { return []error{ErrLost, e.Cause} }

// ForeignKeyError names the key that is in the way. It matches [ErrForeignKey]
// under [errors.Is].
type ForeignKeyError struct {
	Lock string // the lock's name
	Key  string // the key in etcd
}

// Error names the key.
func (e *ForeignKeyError) Error() string {
	return fmt.Sprintf("%v: %q is no key of lock %q; delete it or choose another name or prefix",
		ErrForeignKey, e.Key, e.Lock)
}

// Unwrap returns [ErrForeignKey].
func (e *ForeignKeyError) Unwrap() error { return ErrForeignKey }

// RolledBackError carries the refusal of a hold that etcd confirms. It matches
// [ErrRolledBack], [fence.ErrStale] and the refusal under [errors.Is].
type RolledBackError struct {
	Refused *fence.RefusedError // what the resource answered
}

// Error names both stamps and says what to do.
func (e *RolledBackError) Error() string { return fmt.Sprintf("%v: %v", ErrRolledBack, e.Refused) }

// Unwrap returns [ErrRolledBack] and the refusal.
func (e *RolledBackError) Unwrap() []error { return []error{ErrRolledBack, e.Refused} }
