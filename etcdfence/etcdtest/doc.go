// Package etcdtest runs real etcd servers inside a test and lets them fail on
// demand: leases that expire, networks that are cut, replies that get lost,
// servers that restart or go back in time. It knows nothing of any lock
// library, so it tests yours as well as ours.
//
//	func TestOldHolderAfterAPartition(t *testing.T) {
//		server := etcdtest.Start(t)
//		link := server.Link(t) // the old holder's network
//		a, _ := concurrency.NewSession(link.NewClient(t))
//		old := concurrency.NewMutex(a, "job")
//		if err := old.Lock(t.Context()); err != nil {
//			t.Fatal(err)
//		}
//
//		link.Cut()                  // A stalls: nothing passes, nothing closes
//		server.Expire(t, a.Lease()) // etcd gives up on A
//		b, _ := concurrency.NewSession(server.NewClient(t))
//		lock := concurrency.NewMutex(b, "job")
//		if err := lock.Lock(t.Context()); err != nil { // B holds
//			t.Fatal(err)
//		}
//		link.Heal() // A wakes up and still believes that it holds
//		// ... let A write to the resource under test: it must refuse
//		a.Orphan() // stop A's renewal, and
//		b.Close()  // give B's lease back
//	}
//
// # What there is
//
//   - Start, StartCluster, StartProcess: one embedded server, several, or an
//     etcd binary of another version. Stop, Kill, Restart, and for a cluster
//     Leader, MoveLeader, Isolate.
//   - Admin, part of each of them: Revoke, DeleteKey, Put, and waiting for
//     events instead of sleeping: WaitQueued, WaitKey, WaitGone, WaitExpired.
//   - Server.Expire: a lease ends now, from the server's side.
//   - Link: a network between clients and a server, to Cut, CutReplies, Heal.
//   - Server.Snapshot and RollBack: revisions go back, the cluster id stays.
//   - Faults: rules in front of a client's KV, Lease and Watcher, such as "the
//     reply to the second delete of this key is lost".
//   - Counter: how many requests a client really sends.
//   - Main, VerifyNoLeaks, NoLeasesLeft: what a test must not leave behind.
//
// # Time
//
// A start takes 10 to 30 ms and needs no disk flush, so a server for each test
// is fine, and parallel tests do not share anything. A cluster of three takes
// 0.2 to 1.0 s. The server's timing is etcd's default all the same: heartbeat
// 100 ms, election 1000 ms, and therefore a smallest lease of 2 s, as in
// production (WithFastLeases: 1 s). What waits, waits for events of the server,
// at most 20 s (WithPatience), and then fails the test.
//
// # The order of cleanups
//
// Cleanups run in reverse order, so start the server first, then make links and
// clients, then the code under test. At the end the server's cleanup closes the
// kit's clients, fails the test if another client is still connected, and stops
// the server. All goroutines of the kit and of etcd have ended then; a member of
// a cluster that was stopped earlier may leave a connection for up to 10 s.
//
// Methods that take a t end the test with t.Fatal when they fail, so they belong
// to the goroutine of the test, as t.Fatal does.
//
// # What a pass proves, and what not
//
// The servers are etcd's own code: its raft, its lease and watch machinery and
// its wire protocol. A pass shows how the code under test behaves against
// that, in the interleaving that the test has set up. It does not show
//
//   - what a loss of power does: files are not flushed (WithFsync), and a Kill
//     loses nothing that was written;
//   - how a slow disk or a loaded machine shifts the times, or clocks that
//     drift: all members share one machine and one clock;
//   - other versions than the one that is linked in: use StartProcess;
//   - that a lock is safe. No lock service can promise that an old holder has
//     stopped; see what the resource does with its late write.
package etcdtest
