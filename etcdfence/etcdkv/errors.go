package etcdkv

import (
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdfence/etcdfence/fence"
)

// Besides the answers of package fence.
var (
	// ErrOver is returned when the hold is over: its key in the lock's queue is gone, or
	// is a later one, though nobody newer may have come yet. Nothing was changed. It is
	// [fence.ErrStale] as well, since what follows from it is the same: never retry, drop
	// what was computed, and acquire the lock anew. See [Options].LockKey.
	ErrOver = errors.New("etcdkv: the hold is over")

	// ErrTooLarge is returned when etcd does not take the write because it has too many
	// operations or too many bytes. Nothing was changed. Make the change smaller, split it
	// over several stamps, or raise the server's --max-txn-ops or --max-request-bytes.
	ErrTooLarge = errors.New("etcdkv: more than etcd takes in one transaction")

	// ErrBadKey is returned for a key or a prefix that is empty or could be one of the
	// fence's own. Nothing was changed. Rename it.
	ErrBadKey = errors.New("etcdkv: bad key")

	// ErrDamaged is returned when a key of the fence holds what the fence did not write.
	// Nothing was changed, and nothing will be until an operator has looked: to take it
	// for "no mark" would let every old stamp in.
	ErrDamaged = errors.New("etcdkv: the fence's own key is damaged")
)

// OverError is the refusal of a hold that is over. It matches [ErrOver] and
// [fence.ErrStale] under [errors.Is], and [*fence.RefusedError] under [errors.As].
type OverError struct {
	Refused *fence.RefusedError // names the stamp, and the mark, which may be older than it
	Key     string              // the key of the hold in the lock's queue
	Created int64               // the create revision of the key now, 0 if it is gone
}

// Error names the stamp and the key.
func (e *OverError) Error() string {
	if e.Created == 0 {
		return fmt.Sprintf("%v: %v presented, but its key %q is gone", ErrOver, e.Refused.Presented, e.Key)
	}
	return fmt.Sprintf("%v: %v presented, but its key %q is of revision %d", ErrOver, e.Refused.Presented, e.Key, e.Created)
}

// Unwrap returns [ErrOver] and the refusal.
func (e *OverError) Unwrap() []error { return []error{ErrOver, e.Refused} }

// sent names the error of a Txn that was sent. Whoever cannot prove a refusal does not
// know: etcd may carry a request out after its client has given up.
func sent(what string, err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrTooManyOps), errors.Is(err, rpctypes.ErrRequestTooLarge), neverSent(err):
		return fmt.Errorf("etcdkv: %s: %w: %w", what, ErrTooLarge, err)
	case refused(err):
		return fmt.Errorf("etcdkv: %s refused, nothing was applied: %w", what, err)
	}
	return fmt.Errorf("etcdkv: %s: %w: %w", what, fence.ErrUnknownOutcome, err)
}

// neverSent: the client itself found the request too large. The same code for an answer
// that is too large says nothing of the kind.
func neverSent(err error) bool {
	return status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "trying to send message larger")
}

// refused reports whether err is an answer by which etcd says that it did not carry out a
// write. "No space" is none: see Resource.settle.
func refused(err error) bool {
	var answer rpctypes.EtcdError
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.Code() {
	case codes.NotFound, codes.PermissionDenied, codes.Unauthenticated, codes.InvalidArgument, codes.FailedPrecondition:
		return true
	}
	return false
}
