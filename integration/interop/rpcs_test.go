package interop_test

import (
	"context"
	"testing"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// A lock that nobody else wants costs what a raw mutex costs: one request to acquire,
// one to release, and nothing on the streams while the hold is short. Counted are the
// requests that leave the process.
func TestRPCs(t *testing.T) {
	const cycles = 50
	server := etcdtest.Start(t)

	var raw etcdtest.Counter
	session, err := concurrency.NewSession(server.NewClient(t, raw.Option()), concurrency.WithTTL(60))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	m := concurrency.NewMutex(session, "raw")
	theirs := count(t, &raw, cycles, func(ctx context.Context) error {
		if err := m.Lock(ctx); err != nil {
			return err
		}
		return m.Unlock(ctx)
	})

	var own etcdtest.Counter
	a, err := etcdfence.New(server.NewClient(t, own.Option()), &etcdfence.Options{TTL: minute})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ours := count(t, &own, cycles, func(ctx context.Context) error {
		h, err := a.Lock(ctx, "ours")
		if err != nil {
			return err
		}
		if h.Token().IsZero() || h.Stamp().IsZero() {
			t.Error("no token")
		}
		server.Revision(t) // by another client: the hold is short, but takes some time
		server.Revision(t)
		return h.Release(ctx)
	})

	t.Logf("%d cycles: ours %s; theirs %s", cycles, &own, &raw)
	if theirs != 2*cycles {
		t.Errorf("a raw mutex took %d requests", theirs)
	}
	if ours != 2*cycles {
		t.Errorf("the adapter took %d requests", ours)
	}
	if n := own.Count("Watch", "LeaseKeepAlive"); n != 0 {
		t.Errorf("the adapter sent %d messages on streams", n)
	}
}

// count returns how many requests the cycles take, without messages on streams and
// without the first cycle, which connects and gets the lease.
func count(t *testing.T, rpcs *etcdtest.Counter, cycles int, cycle func(context.Context) error) int {
	t.Helper()
	ctx := within(t, minute)
	for i := range cycles + 1 {
		if i == 1 {
			rpcs.Reset()
		}
		if err := cycle(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return rpcs.Count() - rpcs.Count("Watch", "LeaseKeepAlive")
}
