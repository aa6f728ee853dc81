//go:build !unix || solaris

package etcdtest

// canHold says that this system has no way to keep a port that nobody listens on.
const canHold = false

// reservePort guesses. The start of a server tries again when somebody was faster.
func reservePort() (port, error) { return guessPort() }
