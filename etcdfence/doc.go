// Package etcdfence hands out locks in etcd together with a token that a resource
// can check: the issuing half of a fenced lock. The enforcing half, package fence,
// knows nothing of etcd.
//
// # Authority
//
// Two questions, two answers. Who may have this name next: etcd decides, with a
// lease and a queue. May this request still change my state: the resource decides,
// by comparing the token with its mark. Nothing in this package makes a late write
// harmless by itself. A local clock, a keep-alive, [Hold.Verify] and [Hold.Context]
// save work; they are never the guard.
//
// The token is the create revision of the lock's key. It rises with every hold of a
// lock, in the order in which etcd grants them. The key itself is the same for
// every hold under one lease; lease ids have no order across members; the revision
// in a response header belongs to whatever request came last.
//
// etcd's own recipe, concurrency.Mutex, does the queueing, on etcd's own keys, so
// raw mutexes, elections, etcdctl lock and the v3lock service on the same prefix
// exclude us and we them.
//
// # States
//
//	Lock, TryLock
//	     |
//	     v          ctx done, lease gone, key deleted
//	 [ queued ] ---------------------------------------> error; the key is
//	     |                                               removed, guarded
//	     | oldest key is ours: token = its create revision
//	     v          lease gone, key deleted, local deadline,
//	 [  held  ] ------------------------------------> [  lost  ]
//	     |            refused by a resource, Close        |
//	     | Release                                        | Release
//	     v                                                v
//	 [released]  key removed by its create revision   [released]  ErrNotHeld
//
// The context of a hold ends, with the cause, when it leaves the state held. Token
// and stamps stay available while it is lost, so that a late write is refused by the
// resource and not by chance; after Release they are zero.
//
// # Time
//
// One lease serves all holds of an [Adapter]. The adapter renews it every third of
// the granted TTL. Its local deadline is counted from the sending of the renewal,
// which is no later than the moment etcd counts from, less [Options].Margin; so a
// hold ends here before etcd can grant the next one, as long as the clocks of the
// two machines run at nearly the same rate and this process gets to run. A process
// that is stopped, or a machine that is suspended, wakes up late and believes in
// its hold for a moment: this is what the fence is for.
//
// A hold that outlives a grace of 200 to 400 ms has its key watched, so that a
// deletion or a revocation ends it at once and not with the next renewal.
//
// # Failure
//
// Every call returns within its context plus 250 ms. A reply that is lost leaves an
// unknown outcome ([ErrUnknownOutcome]), and the adapter then removes the key in the
// background, by its create revision, until etcd has answered or the lease is gone:
// nobody waits longer than one TTL. While that is open the name stays closed in this
// process, since a second key of the name under this lease would be the same key. A
// dead lease is replaced with the next acquisition. After a restore of etcd from a
// backup revisions go back; a resource then refuses holders that etcd confirms, which
// is reported as [ErrRolledBack] and healed by a higher [Options].Epoch.
//
// # Elections
//
// A [Leadership] is a hold whose key has a value for onlookers: [Adapter.Campaign] wins
// it, on the keys of concurrency.Election, and [Lead] is the loop around it. Onlookers
// ask with [Adapter.Leader] and follow with [Adapter.Observe]. Leading, like holding,
// stops nobody's late write; the leader's token does.
//
// # Where to read on
//
// A token is born in revision.go, travels in fence/wire.go and is enforced by what
// fence/resource.go describes. [Do] is the whole life of a hold in one call.
package etcdfence
