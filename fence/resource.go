// ENFORCED: a token was born in etcdfence/revision.go, has travelled through
// wire.go, and ends here, at the resource it guards. Next: memory.go, the rule in
// code and the shortest honest resource.

package fence

import "context"

// FencedResource is where a token is enforced. [Memory] is the shortest honest
// implementation.
//
// T is the store's own transactional handle: a *sql.Tx, a list of commands, the
// body of an object. Every implementation keeps this contract:
//
//   - R1: compare and change are one atomic step.
//   - R2: the mark never goes down, and survives release, reopen and crash as
//     durably as the data does.
//   - R3: a refusal is a [*RefusedError] and names both stamps.
//   - R4: a change that fails leaves data and mark where they were.
//   - R5: a claim closes the window before the first write.
//   - R6: a lost reply is [ErrUnknownOutcome], and the same stamp may be sent
//     again.
//   - R7: concurrent stamps in any order: the accepted ones strictly rise.
//   - R8: numbers are compared as 64-bit integers.
//   - R9: first write ever, missing row and stale are three different results.
//   - R10: nothing passes without a token.
type FencedResource[T any] interface {
	// Apply makes the effects of change and "the mark is s" visible together, if
	// and only if s is strictly newer than the mark. If change returns an error,
	// that error comes back, nothing is applied and the stamp is not consumed.
	// change may run more than once and must touch nothing but tx; it must not keep
	// tx. An operation id in ctx (see [WithOperation]) is looked at after the fence
	// has let s pass, in the same step.
	//
	// Errors: those of [Judge]; [ErrDuplicate], which does not consume the stamp
	// either; [ErrBadOperation]; [ErrContended] and [ErrUnknownOutcome], after which
	// the same stamp may be sent again; the store's own errors and those of ctx, after
	// which nothing was applied.
	Apply(ctx context.Context, s Stamp, change func(ctx context.Context, tx T) error) error

	// Claim raises the mark to t with sequence 0 and changes nothing else. Once it
	// has returned nil no older generation is accepted, so what is read afterwards
	// stays true until a newer one comes. Claiming a second time is fine. Errors are
	// those of Apply, but never [ErrReplayed].
	Claim(ctx context.Context, t Token) error

	// Mark returns the newest stamp that was accepted for the lock, the zero Stamp if
	// there was none, and [ErrWrongLock] if another lock guards the resource. It is
	// for diagnosis; deciding on it before a write is a race.
	Mark(ctx context.Context, lock string) (Stamp, error)
}

// A Rebaser is a resource whose mark an operator can set back. It is the way out
// after a rewind: etcd, or the resource, was restored from a backup, and the mark
// no longer fits the tokens that are issued. Raising the epoch of the tokens heals
// the same without it, and is to be preferred; a rebase is for a mark that is ahead
// of every epoch by mistake, or of data that went back alone. Nothing does it by
// itself.
type Rebaser interface {
	// Rebase sets the mark of a lock to the stamp to, if and only if it is from at
	// that moment, and changes nothing else. The zero Stamp as from means that there
	// is no mark yet; to must not be zero and must be of the same lock. What the old
	// mark refused, the new one may accept: first make sure that no holder from
	// before is still running.
	//
	// Errors: [ErrMoved] with the mark that was found; [ErrBadToken] if to is zero or
	// from and to are of different locks; [ErrWrongLock]; [ErrContended],
	// [ErrUnknownOutcome], after which the mark tells; the store's own.
	Rebase(ctx context.Context, from, to Stamp) error
}
