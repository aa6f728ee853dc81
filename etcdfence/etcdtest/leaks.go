package etcdtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
)

// Main is a TestMain: it runs the tests and then verifies that no goroutine is
// left, of the code under test or of anything else in the process.
//
//	func TestMain(m *testing.M) { etcdtest.Main(m) }
//
// It is the check that works with parallel tests. It waits up to 10 s, because
// a stopped member of a cluster has connections to others that end with a
// timeout of etcd's.
func Main(m *testing.M, opts ...goleak.Option) {
	code := m.Run()
	if code == 0 {
		if err := findLeaks(leakPatience, opts); err != nil {
			fmt.Fprintln(os.Stderr, "etcdtest: goroutines left after the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// VerifyNoLeaks makes the test t fail if it ends with more goroutines than it
// has now. Call it first, before Start, so that it looks last.
//
// It cannot tell whose a goroutine is, so it is not for parallel tests, and
// testing stops a test that tries (it says "cannot use t.Setenv in parallel
// tests"). Those have Main, and the checks of each server that do not look at
// goroutines: connections at the end (see WithOpenClients) and NoLeasesLeft.
func VerifyNoLeaks(t testing.TB, opts ...goleak.Option) {
	t.Helper()
	verifyNoLeaks(t, leakPatience, opts)
}

func verifyNoLeaks(t testing.TB, patience time.Duration, opts []goleak.Option) {
	t.Helper()
	t.Setenv("ETCDTEST_VERIFY_NO_LEAKS", "1") // its only use: it refuses parallel tests
	opts = append(opts, goleak.IgnoreCurrent())
	t.Cleanup(func() {
		if t.Failed() {
			return // what a failed test leaves behind hides why it failed
		}
		if err := findLeaks(patience, opts); err != nil {
			t.Errorf("etcdtest: the test left goroutines: %v", err)
		}
	})
}

// leakPatience is how long goroutines may take to end by themselves.
const leakPatience = 10 * time.Second

// etcdsOwn are goroutines that a member of a cluster may leave for ever: another
// member asks for its version while it closes its database. etcd 3.7.3 then panics
// with a lock held (baseReadTx.UnsafeRange, on a transaction that is nil), net/http
// recovers from it, and the next such request waits for the lock without end.
var etcdsOwn = goleak.IgnoreAnyFunction("go.etcd.io/etcd/server/v3/etcdserver/api/etcdhttp.newPeerHandler.versionHandler.func1")

// findLeaks looks until nothing is left or the patience is over. One look of
// goleak's takes up to about a second.
func findLeaks(patience time.Duration, opts []goleak.Option) error {
	opts = append([]goleak.Option{etcdsOwn}, opts...)
	deadline := time.Now().Add(patience)
	for {
		err := goleak.Find(opts...)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// NoLeasesLeft fails the test if a lease exists now. Leases that are not
// revoked live on for their TTL, with their keys. To check at the end of a
// test, register it right after Start, so that it runs when later cleanups are
// through:
//
//	t.Cleanup(func() { server.NoLeasesLeft(t) })
func (a *Admin) NoLeasesLeft(t testing.TB) {
	t.Helper()
	c, ctx, cancel := a.begin(t)
	defer cancel()
	ids, err := leases(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		resp, err := c.TimeToLive(ctx, id, clientv3.WithAttachedKeys())
		if err != nil || resp.GrantedTTL == 0 {
			continue // gone meanwhile
		}
		keys := make([]string, len(resp.Keys))
		for i, k := range resp.Keys {
			keys[i] = fmt.Sprintf("%q", k)
		}
		t.Errorf("etcdtest: lease %x is left, with %d of %d s to live and the keys [%s]",
			int64(id), resp.TTL, resp.GrantedTTL, strings.Join(keys, " "))
	}
}
