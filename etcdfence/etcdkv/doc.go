// Package etcdkv is a [fence.FencedResource] in etcd itself: the keys under a prefix.
//
// It is like fence's memory.go, but atomic by one Txn, whose If compares the mark. It is
// in txn.go; nothing else decides.
//
//	r, err := etcdkv.New(client, "/accounts", "orders/42", &etcdkv.Options{
//		LockKey: etcdkv.LockKey("/locks"), // if the locks are in the same cluster
//	})
//	w, err := etcdfence.Bind(ctx, hold, r) // claims
//	err = w.Apply(ctx, func(ctx context.Context, tx *etcdkv.Tx) error {
//		balance, _, err := tx.Get(ctx, "alice")
//		...
//		tx.Put("alice", balance)
//		return err
//	})
//
// # Authority
//
// etcd's store decides, in the revision in which it applies the Txn. The mark lies beside
// the data, is written with them, and is as durable as they are. Restoring etcd from a
// backup takes both back, and the revisions that tokens are made of as well: raise the
// epoch then.
//
// Other resources learn that a hold is over when a newer one claims. This one can know it
// at once, if the locks are in the same cluster: [Options].LockKey adds the hold's own key
// to the If. A holder whose lease has expired is then refused before anybody else has come
// ([ErrOver], which is [fence.ErrStale] too). It is no replacement for the mark: the mark
// also tells one write of a hold from another, and refuses what was sent twice or too late.
//
// # States
//
//	no mark --first--> mark --newer stamp--> mark --newer stamp--> ...
//	                    |
//	                    +-- older, equal, another owner, hold over: refused, unchanged
//
// # Changes
//
// A change stages puts and deletes; nothing is sent until it has returned nil. What it
// reads through [Tx.Get] is compared in the Txn: if it has changed, the change runs again.
// So a change is serializable with everything else in etcd, fenced or not.
//
// A change may run for a stamp that is refused then, since one Txn both asks the fence and
// writes. Do not do in it what cannot be undone.
//
// # Time
//
// No clock takes part. Whether a lease has expired is for etcd to say, by deleting the key.
//
// # Failure
//
// A Txn whose answer is lost is [fence.ErrUnknownOutcome]: send the same stamp again.
// clientv3 sends no write a second time by itself, except after an answer that says it was
// not carried out (no connection yet, an authentication token that has expired) and after
// an answer of "cancelled" or "deadline exceeded" while the caller's own context lives,
// which proxies give for reasons of their own. In that last case the first sending may have
// been applied; the call finds its own mark and reports success, once.
//
// etcd can answer "no space" to a Txn that it has applied: it asks its quota before the
// proposal and again afterwards. The mark is read then, and the call tells the truth. Every call returns with its context.
//
// # Limits
//
// etcd's own: 128 operations and 1.5 MiB for each Txn by default. The mark takes one
// operation, an operation id another; a read in a change takes a compare, of which there
// may be as many again. Beyond that it is [ErrTooLarge].
//
// # Keeping marks
//
// Nothing here deletes a mark, and only [Resource.Rebase] takes one back. Whoever deletes
// the keys under "prefix.fence/" lets every old stamp in; deleting the data alone does no
// harm. What is under "prefix.fence/operation/" may be deleted once no repeat can come any
// more. Use etcd's roles to keep others from writing under either prefix.
//
// # What is not protected
//
// Writers that do not come this way; keys outside the prefix. A resource under a prefix
// inside another one's, and that one's lock, know nothing of each other.
package etcdkv
