// Package redistest starts private, real Redis servers for tests from the binary that is
// installed on the machine: alone, with a replica, and as a cluster. They need no running
// server, no network and no password.
//
//	func TestMain(m *testing.M) {
//		code := m.Run()
//		redistest.Close() // the shared server
//		os.Exit(code)
//	}
//
//	func TestSomething(t *testing.T) {
//		client := redistest.Start(t).Client(t)
//		...
//	}
//
// A server listens on a socket in its own temporary directory, so any number of them run
// side by side; those that must find each other listen on free loopback ports. It writes
// every command to its log and waits for the disk before it answers, so that one that is
// killed keeps what it has answered. A missing binary fails the test; it does not skip it.
package redistest
