// Package pgtest starts a private, real PostgreSQL for tests from the binaries that
// are installed on the machine: on PATH, or in /usr/lib/postgresql. It needs no
// running server, no network and no password.
//
//	func TestMain(m *testing.M) {
//		code := m.Run()
//		pgtest.Close() // the shared server, and what initdb made
//		os.Exit(code)
//	}
//
//	func TestSomething(t *testing.T) {
//		db, err := sql.Open("pgx", pgtest.Shared(t).Database(t))
//		...
//	}
//
// initdb runs once in a test binary; every further server starts from a copy. A server
// listens on a socket in its own temporary directory, so any number of them run side
// by side. Missing binaries fail the test; they do not skip it.
//
// Because initdb and postgres refuse to run as root, a test that is root runs them as
// the user postgres, or nobody.
package pgtest
