package interop_test

import (
	"context"
	"testing"

	"github.com/etcdfence/etcdfence/etcdfence"
)

// The one lock of these tests, as the adapter calls it and as everybody else does. The
// name has a slash, so that the escaping is part of what is tested.
const (
	prefix  = "/locks"
	name    = "orders/42"
	rawName = "/locks/orders%2F42"
	queue   = rawName + "/" // where all keys are
)

// contender is a process that uses the lock: a client of its own, over and over.
type contender interface {
	// lock waits for the lock and returns the create revision that it goes by, as this
	// kind of contender learns it.
	lock(ctx context.Context) (revision int64, err error)
	unlock(ctx context.Context) error
}

// trier is a contender that can give up at once.
type trier interface {
	contender
	try(ctx context.Context) error
}

// rivals are the others, each made with a connection of its own.
var rivals = []rival{
	{"mutex", embedded, newMutex},
	{"election", embedded, newElection},
	{"v3lock", apart, newService},
	{"etcdctl", embedded, newEtcdctl},
}

type rival struct {
	name string
	at   func(t *testing.T) site
	make func(t *testing.T, at site) contender
}

// ours is the adapter.
type ours struct {
	adapter *etcdfence.Adapter
	hold    *etcdfence.Hold
}

func newOurs(t *testing.T, at site) *ours {
	t.Helper()
	a, err := etcdfence.New(at.NewClient(t), &etcdfence.Options{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return &ours{adapter: a}
}

func (o *ours) lock(ctx context.Context) (int64, error) {
	h, err := o.adapter.Lock(ctx, name)
	if err != nil {
		return 0, err
	}
	o.hold = h
	return h.Token().Revision(), nil
}

func (o *ours) unlock(ctx context.Context) error { return o.hold.Release(ctx) }

func (o *ours) try(ctx context.Context) error {
	h, err := o.adapter.TryLock(ctx, name)
	if err == nil {
		o.hold = h
	}
	return err
}
