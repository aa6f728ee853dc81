// Package natsfence is a [fence.FencedResource] in one key of a NATS JetStream key-value
// bucket.
//
// It is like fence's memory.go, but atomic by an update that names the revision it
// replaces: mark and body are one value. The loop is in cas.go; nothing else decides.
//
//	r, err := natsfence.Open(ctx, js, "orders", "42", "orders/42", nil)
//	err = r.Claim(ctx, token) // before the first read
//	err = r.Apply(ctx, stamp, func(ctx context.Context, tx *natsfence.Tx) error {
//		order, err := parse(tx.Body())
//		...
//		tx.SetBody(order.bytes())
//		return err
//	})
//
// The value is one line of JSON, in which the mark is, and behind it the body as it is:
//
//	{"etcdfence":1,"mark":"v1;e=0;r=53;s=7;o=694d81%2Fweb-7:4711;l=orders%2F42","call":"..."}
//	the body
//
// # Authority
//
// The stream's leader decides, by the revision that it has. The mark is as durable as the
// body, being in the same message. How durable that is, the server says: by default
// JetStream writes to the file at once and waits for the disk every two minutes
// (sync_interval). A server that is killed loses nothing; a machine that loses power may
// lose two minutes of acknowledged writes, marks included, and then an older stamp is
// accepted again. With one replica set "sync_interval: always". With three a majority must
// lose power together, and it still may. A bucket in memory forgets when its servers stop.
//
// # States
//
//	no key --first--> mark and body --newer stamp--> ...
//	                    |    |
//	                    |    +-- older, equal, or another owner: refused, unchanged
//	                    |
//	                    +-- deleted, purged ([ErrDeleted]), or put without a mark
//	                        ([ErrForeign]): closed until an operator calls Rebase
//
// # Deleting
//
// A deletion takes the mark away with the body, so never delete or purge a key: set an empty
// body. Whoever does it all the same leaves a marker, and the fence refuses everything from
// then on. Do not remove the markers (PurgeDeletes, or a limit on their age): without one
// the key is as if it had never been, and only a Resource that has seen it knows better.
// Buckets whose keys expire are refused by [Open].
//
// # Changes
//
// A change runs on the value that it is going to replace, and again on a newer one if
// somebody else was faster. So it is serializable with everything else that is done to the
// key. A Resource remembers what it wrote last and begins with that, which saves the read
// as long as nobody else writes; one Resource for each key in a process is best.
//
// # Time
//
// No clock takes part in what is decided.
//
// # Failure
//
// A comparison that is lost (JetStream's codes 10071 and, on replicated streams, 10164) is
// tried again, [Options].Attempts times, and is then [fence.ErrContended]; so is a stream
// without a leader, as long as nothing was stored. An answer that does not come within
// [Options].Timeout is [fence.ErrUnknownOutcome]: send the same stamp again. A message may
// wait in the client's buffer for a connection and be stored much later; it is then
// compared like any other.
//
// The client sends a message again by itself only after the server has said that nobody
// received it. A call whose own value is there already knows it, and succeeds once.
//
// Reads ask the stream's leader. A leader that was deposed and cut off may answer with an
// older value for some seconds. What this Resource has seen it does not take back: so
// nothing that was there before its own claim is missing from what it reads after it.
//
// # Limits
//
// A value, operations included, must fit into max_payload, 1 MiB by default. Operation ids
// are kept in the value: the newest [Options].Operations of them.
//
// # What is not protected
//
// Writers that put without this package: their values are noticed, and were stored all the
// same. Other keys of the bucket. Restoring the stream from a backup takes marks back.
package natsfence
