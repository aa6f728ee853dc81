// Package natstest runs real nats-servers with JetStream for tests: the module of the
// server itself, so that no program need be installed and the version is the one that
// go.mod names.
//
//	func TestMain(m *testing.M) {
//		natstest.Main() // for StartProcess
//		goleak.VerifyTestMain(m)
//	}
//
//	func TestSomething(t *testing.T) {
//		js := natstest.Start(t).JetStream(t)
//		...
//	}
//
// [Start] is a server inside the test process: some 10 ms, but it can only be stopped in
// order. [StartProcess] is the same server in a child, which is the test program again,
// for those who want to kill it. [StartCluster] is several inside the test process, for
// replicated streams. [Proxy] loses answers.
//
// Every server listens on the loopback, on a port and with a directory of its own.
package natstest
