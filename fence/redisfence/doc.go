// Package redisfence is a [fence.FencedResource] in the keys of one hash slot of a Redis,
// with go-redis.
//
// It is like fence's memory.go, but atomic by a script: fence.lua compares the stamp with
// the mark, makes the change and sets the mark, and Redis runs nothing else meanwhile.
//
//	r, err := redisfence.Open(ctx, client, "{orders/42}:fence", "orders/42", nil)
//	err = r.Claim(ctx, token) // before the first read
//	err = r.Apply(ctx, stamp, func(ctx context.Context, tx *redisfence.Tx) error {
//		tx.HSet("{orders/42}:order", "state", "paid")
//		tx.XAdd("{orders/42}:events", "paid", "42")
//		return nil
//	})
//
// The mark is a few lines of text, which GET shows. A change reads with the client as ever:
// after a claim by this hold what it reads stays true until a newer holder claims, or it
// writes itself.
//
// # Half a change
//
// Redis does not roll back: when the third command of a script fails, what the first two
// have written stays. So a change consists of commands whose failure can be foreseen. What
// they need of the keys is worked out before anything is sent, and looked at by the script
// before it writes anything: [ErrUnfit]. The same goes for permissions. What remains is
// refused with the first write or not at all: memory, a replica that may not write, too few
// replicas, a disk that fails. A change that fails leaves data and mark as they were.
//
// Two things can still tear one. A disk that begins to fail between two commands of one
// script makes Redis refuse the second. And a [Script] of yours may fail after it has
// written. Both are [ErrTorn], with the mark at the stamp.
//
// # Authority
//
// The master of the slot decides. The mark is as durable as the data, in the same server,
// in the same entry of its log. How durable that is, the server says: with "appendonly yes"
// and "appendfsync always" what was answered survives a crash, with "everysec", the default
// of that log, all but the last second or two, with snapshots alone all but what came since
// the last one. After such a loss an older stamp may be accepted again.
//
// # Failover
//
// Replication is asynchronous. A master that dies may take acknowledged writes with it,
// marks included; the replica that is promoted knows nothing of them, and an older stamp
// is accepted there. That is so in a cluster and under Sentinel alike. A master that is cut
// off takes writes, and loses them, until it learns better. WAIT does not help: it tells
// how many replicas have a write, after the write, and the one without it may still be
// promoted. min-replicas-to-write with a short min-replicas-max-lag narrows the window, and
// does not close it. Whoever cannot bear that keeps the mark, and the data, in a store that
// agrees by majority.
//
// Each Resource remembers the newest mark that it has seen. If Redis is behind that, it says
// [ErrWentBack], to the hold that wrote what is gone; other processes it cannot warn.
//
// # States
//
//	no mark --first--> mark --newer stamp--> ...
//	                    |  |
//	                    |  +-- older, equal, or another owner: refused, unchanged
//	                    |
//	                    +-- deleted, evicted, FLUSHALL: no mark again, and every old stamp
//	                        passes, except where a Resource has seen a newer one
//
// A key that was deleted leaves no trace in Redis. So never delete the mark, put it where
// no clean-up by pattern finds it, and let Redis not evict: [Open] refuses a
// maxmemory-policy that may take it. The mark has no TTL; one that somebody gives it is
// taken back with the next write.
//
// # Numbers
//
// Lua has doubles, which end at 2^53. Epoch, revision and sequence are compared as decimal
// strings, nine digits at a time, without the server's locale.
//
// # Time
//
// No clock takes part in what is decided. A call ends with its context, and then at the
// latest when the request ends that is under way: by the client's DialTimeout, ReadTimeout
// or WriteTimeout, 5 s by default, or with the context itself if the client has
// ContextTimeoutEnabled.
//
// # Failure
//
// The client's own repeats are switched off for our commands, since it does not tell which
// answer belongs to which sending. A Resource repeats instead, [Options].Attempts times, when
// an answer is lost or Redis asks to come back. Each call has a word, which the mark keeps:
// a call that finds its own word knows that it has been here, and succeeds once. If no
// answer comes at all it is [fence.ErrUnknownOutcome]: send the same stamp again.
//
// LOADING, BUSY, READONLY, NOREPLICAS, CLUSTERDOWN, TRYAGAIN, MASTERDOWN, and too many
// redirections are [fence.ErrContended]: nothing was applied. (While a slot moves to another
// node of a cluster, TRYAGAIN is the answer to every change that names a key which is
// missing, until the slot has moved.) So it is with every other answer of Redis.
//
// A script that Redis does not know (NOSCRIPT: after a restart, a failover, SCRIPT FLUSH) is
// sent with its text.
//
// # Permissions
//
// A user needs, on the fence's keys and those of the changes: evalsha, eval, get, set;
// type, and hget for counters; for operation ids type, llen, hget, hset, hdel, rpush, lpop; the commands of the changes; and info, unless [Options].NoCheck.
//
// # Limits
//
// A script keeps Redis from everything else, so changes should be short. All keys are in one
// slot: [Options].AnySlot. Several marks may be in one slot, each with a lock of its own; a
// change under one does not look at another.
//
// Scripts and not functions (FCALL): those must be installed, and upgraded under running
// clients; a script comes with the program that means it.
//
// It was tried with Redis 7.0, alone, with a replica, and as a cluster. Nothing is known of
// Valkey, KeyDB, Dragonfly and what clouds sell under the protocol, nor of Redis before 7,
// which cannot ask beforehand what a user may do.
//
// # What is not protected
//
// Writers that do not use this package. Keys that a change does not name. A replica that is
// read from may be behind the claim: read from the master.
package redisfence
