package fence

import (
	"errors"
	"fmt"
)

// The answers of a fenced resource. Decide with [errors.Is]; take the facts from
// [RefusedError] and [DuplicateError] with [errors.As].
var (
	// ErrStale is returned when the stamp belongs to an older generation than the
	// mark: somebody else has taken the lock since and the resource knows it.
	// Nothing was changed. Never retry: stop, drop what was computed, and acquire
	// the lock anew if the work is still wanted.
	ErrStale = errors.New("fence: stale")

	// ErrReplayed is returned when this very stamp, or a later one of the same
	// hold, was accepted before. Nothing was changed now. After a lost reply it
	// means that the write took effect if the mark equals the stamp; on a first
	// sending it means that two writers use one hold without sharing one
	// sequence: find them.
	ErrReplayed = errors.New("fence: replayed")

	// ErrConflict is returned when the stamp has the mark's generation but another
	// owner. Two histories handed out one number: etcd was rolled back, or two
	// clusters guard one resource. Nothing was changed. Never retry; tell an
	// operator.
	ErrConflict = errors.New("fence: conflict")

	// ErrNoToken is returned when a request carries no token. Nothing was changed.
	// Acquire the lock, or find where the token was dropped on the way.
	ErrNoToken = errors.New("fence: no token")

	// ErrWrongLock is returned when the token is of another lock than the one that
	// guards the resource. Nothing was changed. It is a wiring mistake.
	ErrWrongLock = errors.New("fence: wrong lock")

	// ErrUnknownOutcome is returned when the reply was lost: the change may or may
	// not have happened. Send the same stamp again; [ErrReplayed] with a mark equal
	// to the stamp then says that it had.
	ErrUnknownOutcome = errors.New("fence: unknown outcome")

	// ErrContended is returned when the store gave up for reasons of its own (a
	// serialisation failure, a deadlock, a lost compare-and-swap) and changed
	// nothing. Send the same stamp again.
	ErrContended = errors.New("fence: contended")

	// ErrDuplicate is returned when the fence let the stamp pass but the operation
	// id was recorded before. Nothing was changed now; [DuplicateError] carries the
	// answer given then.
	ErrDuplicate = errors.New("fence: duplicate operation")

	// ErrMoved is returned when a mark that was to be rebased is not the one that was
	// named: it has moved, or never was. Nothing was changed. Read the mark, think
	// again, and name the new one if the rebase is still right.
	ErrMoved = errors.New("fence: the mark has moved")

	// ErrBadToken is returned when a token, a stamp or a name is malformed. Nothing
	// was changed. Fix the caller: sending it again cannot help.
	ErrBadToken = errors.New("fence: malformed token")

	// ErrBadOperation is returned when an operation id is malformed. Nothing was
	// changed.
	ErrBadOperation = errors.New("fence: malformed operation id")
)

// final answers settle a request, whatever else an error that carries one says.
var final = []error{ErrStale, ErrReplayed, ErrConflict, ErrNoToken, ErrWrongLock, ErrDuplicate, ErrMoved, ErrBadToken, ErrBadOperation}

// SafeToRetry reports whether sending the same stamp again is safe and may help:
// true for [ErrContended] and [ErrUnknownOutcome], false for everything else. An
// error that also carries a final answer, such as a refusal, is never worth a
// retry.
func SafeToRetry(err error) bool {
	for _, answer := range final {
		if errors.Is(err, answer) {
			return false
		}
	}
	return errors.Is(err, ErrContended) || errors.Is(err, ErrUnknownOutcome)
}

// RefusedError says which stamp was refused against which mark. It matches its
// Reason under [errors.Is].
type RefusedError struct {
	Lock      string // the lock that guards the resource
	Presented Stamp  // what was sent; zero if nothing was
	Mark      Stamp  // what the resource had accepted; zero if nothing yet
	Reason    error  // ErrStale, ErrReplayed, ErrConflict, ErrNoToken, ErrWrongLock or ErrMoved
}

// Error names both stamps; the mark only if the resource has one.
func (e *RefusedError) Error() string {
	switch e.Reason {
	case ErrConflict: //nolint:errorlint // a reason is one of the sentinels itself
		return fmt.Sprintf("%v: %v of %q presented, but %v of %q was accepted",
			e.Reason, e.Presented, e.Presented.token.owner, e.Mark, e.Mark.token.owner)
	case ErrNoToken, ErrWrongLock:
		text := fmt.Sprintf("%v: %v presented to a resource guarded by %q", e.Reason, e.Presented, e.Lock)
		if !e.Mark.IsZero() {
			text += fmt.Sprintf(", where %v was accepted", e.Mark)
		}
		return text
	case ErrMoved:
		return fmt.Sprintf("%v: it is %v and not %v", e.Reason, e.Mark, e.Presented)
	}
	return fmt.Sprintf("%v: %v presented, but %v was accepted", e.Reason, e.Presented, e.Mark)
}

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Reason }

// DuplicateError carries the answer of an operation that was done before. It
// matches [ErrDuplicate] under [errors.Is].
type DuplicateError struct {
	Operation string // the operation id
	Stamp     Stamp  // the stamp it was done with
	Result    []byte // what the change recorded with Operation.SetResult, or nil
}

// Error names the operation and the stamp that did it.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%v: %q was done by %v", ErrDuplicate, e.Operation, e.Stamp)
}

// Unwrap returns [ErrDuplicate].
func (e *DuplicateError) Unwrap() error { return ErrDuplicate }
