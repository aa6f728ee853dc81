// Package fence is the travelling and the enforcing half of a fenced lock.
//
// A lock service decides who may be given a name next. It cannot decide
// whether a request that is already on its way may still change a resource: a
// holder that stalled past its lease still believes in its lock and writes
// anyway. Only the resource can refuse it, by remembering the newest generation
// it has accepted and turning an older one away.
//
// The words, each with one meaning:
//
//   - A [Token] is one generation of one lock: lock name, epoch, create
//     revision, owner. Tokens of one lock are ordered by (epoch, revision).
//   - A [Stamp] is a token and a sequence number: it identifies one write of one
//     hold.
//   - A mark is the newest stamp a resource has accepted. It outlives every
//     release of the lock.
//   - A claim raises the mark to a new token before that token's first write.
//
// The one rule, which [Judge] states in code: a resource accepts a stamp if and
// only if it is strictly newer than its mark, and stores the change and the new
// mark in the same atomic step. Equal is never newer.
//
// Follow a token through three files: it is born in etcdfence/revision.go (the
// package etcdfence, which knows etcd), travels in wire.go, and is enforced by a
// [FencedResource], whose contract is resource.go and whose shortest honest
// implementation is memory.go.
//
// # Authority
//
// The lock says whose turn it is; the resource alone says what it still accepts. It
// asks nobody: its own mark is enough.
//
// # States
//
// What a resource knows of one lock:
//
//	no mark --claim t1--> t1#0 --write--> t1#1 --write--> t1#2 --claim t2--> t2#0 ...
//	                                                  from here on t1 is stale
//
// There is no way back: neither a release nor a restart lowers a mark. A first
// write without a claim leads straight to its own stamp.
//
// # Time
//
// Nothing here reads a clock. A token does not expire; it is overtaken.
//
// # Failure
//
//   - refused ([ErrStale], [ErrReplayed], [ErrConflict], [ErrNoToken],
//     [ErrWrongLock]): nothing was changed, and sending it again cannot help.
//   - [ErrContended]: nothing was changed; send the same stamp again.
//   - [ErrUnknownOutcome]: it may or may not have happened; send the same stamp
//     again and let the mark answer.
//   - anything else: the change or the store failed, nothing was changed and the
//     stamp is not consumed.
//
// [SafeToRetry] tells the second and the third from the rest.
//
// # Limits
//
// This module has no requirements at all: a service that enforces a fence never
// links an etcd client.
//
// What a fence does not do: it does not stop the old worker, does not lengthen
// its lease, and protects nothing but the resource that checks it. The owner
// (who sent this), the token (is this generation newer than what was accepted)
// and the operation id (was this very operation done already) are three fields
// with three rules; none stands in for another.
package fence
