// Package mariatest starts a private, real MariaDB for tests from the binaries that are
// installed on the machine. It is pgtest for another database: it needs no running
// server, no network and no password.
//
//	func TestMain(m *testing.M) {
//		code := m.Run()
//		mariatest.Close() // the shared server, and what mariadb-install-db made
//		os.Exit(code)
//	}
//
//	func TestSomething(t *testing.T) {
//		db, err := sql.Open("mysql", mariatest.Shared(t).Database(t)+"?interpolateParams=true")
//		...
//	}
//
// mariadb-install-db runs once in a test binary; every further server starts from a copy.
// A server listens on a socket in its own temporary directory, so any number of them run
// side by side. Missing binaries fail the test; they do not skip it.
//
// Because mariadbd refuses to run as root, a test that is root runs it as the user mysql,
// or nobody.
package mariatest
