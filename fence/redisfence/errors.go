package redisfence

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/fence"
)

// Besides the answers of package fence.
var (
	// ErrForeign is returned when the key of the mark, or one of those beside it, holds
	// what the fence did not write. Nothing was changed. Somebody else uses the key, or has
	// damaged the mark: find out who, and give the mark another key or repair it.
	ErrForeign = errors.New("redisfence: the mark was not written by the fence")

	// ErrWentBack is returned when Redis is behind what this Resource has seen of the mark:
	// a failover has lost writes, a backup was restored, keys were evicted or deleted.
	// Nothing was changed. What this hold has read since its claim may be gone too: start
	// over under a new hold, which is let in. Raise the epoch of the tokens if holders from
	// before may still be running.
	ErrWentBack = errors.New("redisfence: the mark has gone back in time")

	// ErrChange is returned when a change can never be made, whatever Redis holds: two of
	// its commands need different types of one key, a counter leaves its range, an argument
	// is bad. Nothing was sent. Fix the change.
	ErrChange = errors.New("redisfence: the change cannot be made")

	// ErrSlot is returned when a key is not in the hash slot of the mark, where a cluster
	// cannot change both in one step. Nothing was sent. Give the keys a common {tag}, or, if
	// there is no cluster, set [Options.AnySlot].
	ErrSlot = errors.New("redisfence: the key is in another slot than the mark")

	// ErrUnfit is returned when a key does not hold what a command of the change needs: it
	// is of another type, or no integer, or a counter would leave its range. Nothing was
	// changed, by no command of the change, and the stamp is not consumed.
	ErrUnfit = errors.New("redisfence: a key does not hold what the change needs")

	// ErrTorn is returned when Redis failed a command after others of the same change were
	// applied: see "Half a change" in the package's documentation. The mark is at the stamp,
	// so that nothing older comes after it, and a repeat of the stamp is told the same.
	// Repair the data under a new stamp.
	ErrTorn = errors.New("redisfence: half of the change was applied")

	// ErrDenied is returned when Redis does not know this user or lets it not do what is
	// needed (NOAUTH, WRONGPASS, NOPERM). Nothing was changed. See "Permissions" in the
	// package's documentation.
	ErrDenied = errors.New("redisfence: not permitted")

	// ErrFull is returned when Redis is over its maxmemory and does not evict (OOM). Nothing
	// was changed. Changes that begin with a deletion still pass.
	ErrFull = errors.New("redisfence: out of memory")

	// ErrEvicts is returned by [Open] when Redis drops keys without being told to, marks
	// included (maxmemory-policy allkeys-...). Use one with noeviction, or with a policy
	// volatile-..., since marks do not expire.
	ErrEvicts = errors.New("redisfence: marks may be evicted")
)

// kinds of answers that begin with a code. All of them come instead of running the script,
// or of its first write: nothing was applied.
var kinds = map[string]error{
	"LOADING":     fence.ErrContended, // it has been started just now
	"BUSY":        fence.ErrContended, // it runs somebody's script
	"MASTERDOWN":  fence.ErrContended,
	"READONLY":    fence.ErrContended, // a replica, which is or was promoted
	"CLUSTERDOWN": fence.ErrContended,
	"TRYAGAIN":    fence.ErrContended, // a slot is on its way
	"NOREPLICAS":  fence.ErrContended, // fewer than min-replicas-to-write
	"MOVED":       fence.ErrContended,
	"ASK":         fence.ErrContended,
	"WRONGTYPE":   ErrUnfit, // for a Script; of all others the types are asked before
	"NOAUTH":      ErrDenied,
	"WRONGPASS":   ErrDenied,
	"NOPERM":      ErrDenied,
	"OOM":         ErrFull,
	"CROSSSLOT":   ErrSlot,
}

// longer are answers whose code says nothing.
var longer = map[string]error{
	"ERR max number of clients reached":     fence.ErrContended,
	"ERR The user executing the script can": ErrDenied, // Redis 7.0, of a command in a script
	"ERR ACL failure in script":             ErrDenied, // later ones
}

// kindOf is nil for an answer that has no kind, such as an error of a Script's own.
func kindOf(answer redis.Error) error {
	text := answer.Error()
	code, _, _ := strings.Cut(text, " ")
	for prefix, kind := range longer {
		if strings.HasPrefix(text, prefix) {
			return kind
		}
	}
	return kinds[code]
}

// failure names the error of a call that was to change something. lost says that some
// sending of it may have been applied.
func failure(ctx context.Context, what string, lost bool, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	if lost {
		return fmt.Errorf("redisfence: %s: %w: %w", what, fence.ErrUnknownOutcome, err)
	}
	return unread(ctx, what+", nothing was applied", err)
}

// unread names the error of a call that could not change anything, or did not.
func unread(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	var answer redis.Error
	if !errors.As(err, &answer) {
		return fmt.Errorf("redisfence: %s: %w", what, err)
	}
	switch kind := kindOf(answer); kind {
	case nil:
		return fmt.Errorf("redisfence: %s: %w", what, err)
	case fence.ErrContended: //nolint:errorlint // a kind is one of the sentinels itself
		return fmt.Errorf("redisfence: %s: %w: %w", what, kind, err)
	default:
		return fmt.Errorf("%w: %s: %w", kind, what, err) // begins with our name
	}
}

// again reports whether the same call may have more luck in a moment.
func again(ctx context.Context, err error) bool {
	var answer redis.Error
	if errors.As(err, &answer) {
		return kindOf(answer) == fence.ErrContended //nolint:errorlint // a kind is one of the sentinels itself
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return ctx.Err() == nil // also when the client's own DialTimeout has ended it
	}
	return ctx.Err() == nil && !errors.Is(err, redis.ErrClosed) && !errors.Is(err, redis.ErrPoolExhausted)
}
