// Package filefence is a [fence.FencedResource] in a local file.
//
// It is like fence's memory.go, but atomic by a rename under a lock on a side file: mark and
// body stand in one file, and the whole file is replaced. The steps are in replace.go.
//
//	r, err := filefence.Open("/var/lib/app/orders.json", "orders/42", nil)
//	err = r.Claim(ctx, token) // before the first read
//	err = r.Apply(ctx, stamp, func(ctx context.Context, tx *filefence.Tx) error {
//		orders, err := parse(tx.Body())
//		...
//		tx.SetBody(orders.bytes())
//		return err
//	})
//
// The file is one line of JSON, in which the mark is, and behind it the body as it is:
//
//	{"etcdfence":1,"mark":"v1;e=0;r=53;s=7;o=694d81%2Fweb-7:4711;l=orders%2F42","call":"..."}
//	the body
//
// Beside it there are ".NAME.fence", which is locked and never replaced, and for a moment
// ".NAME.fence-new", the next file. Do not remove the first one while a program runs.
//
// # Authority
//
// The file system decides. The side file is locked with flock(2), and not the file itself:
// a rename puts another file in its place, so that a lock on the old one excludes nobody.
// Under the lock the file is compared with what the change has seen, and replaced.
//
// # States
//
//	no file --first--> mark and body --newer stamp--> ...
//	                     |    |
//	                     |    +-- older, equal, or another owner: refused, unchanged
//	                     |
//	                     +-- removed ([ErrDeleted]), or written without a mark
//	                         ([ErrForeign]): closed until an operator calls Rebase
//
// # Durability
//
// The next file is written and synced, renamed over the old one, and the directory is
// synced, before a write is reported. So after a crash, or a loss of power if the disk keeps
// what it has confirmed, there is the old file or the new one, whole, and the mark is that
// of the body. A program that is killed half-way leaves ".NAME.fence-new", which the next
// write replaces.
//
// # Time
//
// No clock takes part in what is decided. The change runs before the lock is taken, on what
// was read then, and again if somebody else was faster: a holder that is stopped in its
// change keeps nobody out. One that is stopped while it writes does, until it goes on or is
// killed: the kernel gives the lock of a dead process free.
//
// # Failure
//
// An error that names a step before the rename means that nothing was applied. If the
// directory cannot be synced the outcome is unknown ([fence.ErrUnknownOutcome]): the new file
// is there, and may not survive a loss of power.
// Waiting for the lock ends with the context; the kernel has no queue for that, so it
// is tried again every few milliseconds, and nobody is promised a turn.
//
// # What is not protected
//
// Network file systems: flock on NFS, SMB and FUSE is as good as server, client and mount
// options make it, and a rename whose reply was lost may be reported as failed. Hard links
// to the file, which keep the old contents. Programs that write to the file themselves:
// they are noticed afterwards. Restoring the file from a backup takes its mark back. Owner
// and extended attributes of the file are those of whoever wrote last; its permissions stay.
//
// Systems without flock (Windows among them) get [errors.ErrUnsupported].
package filefence
