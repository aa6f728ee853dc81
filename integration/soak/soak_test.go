package soak_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
)

// Five services, one lock, a counter that each reads and then writes.
func TestAdapters(t *testing.T) {
	server := etcdtest.Start(t)
	l := newLedger(t)
	workers := map[string]worker{}
	for i := range 5 {
		workers[fmt.Sprint("adapter ", i)] = worker{400, l.adapter(t, server)}
	}
	l.verify(t, together(t, workers))
	server.WaitEmpty(t, lock+"/")
}

// The same in the middle of a migration: some services still have a raw mutex, take
// their tokens from it with TokenOf, and write to the resource themselves. They
// have fewer turns, since a raw mutex takes up to 100 ms to notice that it is next.
func TestAdaptersAndRawMutexes(t *testing.T) {
	server := etcdtest.Start(t)
	l := newLedger(t)
	workers := map[string]worker{}
	for i := range 3 {
		workers[fmt.Sprint("adapter ", i)] = worker{600, l.adapter(t, server)}
	}
	for i := range 2 {
		workers[fmt.Sprint("raw mutex ", i)] = worker{100, l.mutex(t, server)}
	}
	l.verify(t, together(t, workers))
	server.WaitEmpty(t, lock+"/")
}

// adapter is a service with an adapter and a connection of its own.
func (l *ledger) adapter(t *testing.T, server *etcdtest.Server) func(context.Context) error {
	t.Helper()
	a, err := etcdfence.New(server.NewClient(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(ctx context.Context) (err error) {
		h, err := a.Lock(ctx, lock)
		if err != nil {
			return err
		}
		l.enter(h.Token())
		defer func() {
			l.exit()
			err = errors.Join(err, h.Release(ctx))
		}()
		w, err := etcdfence.Bind[*fence.MemoryTx](ctx, h, l)
		if err != nil {
			return err
		}
		n, err := l.read(ctx)
		if err != nil {
			return err
		}
		return w.Apply(ctx, set(n+1))
	}
}

// mutex is a service that has not migrated yet.
func (l *ledger) mutex(t *testing.T, server *etcdtest.Server) func(context.Context) error {
	t.Helper()
	session, err := concurrency.NewSession(server.NewClient(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	m := concurrency.NewMutex(session, lock)
	return func(ctx context.Context) (err error) {
		if err := m.Lock(ctx); err != nil {
			return err
		}
		token, err := etcdfence.TokenOf(m, lock)
		if err != nil {
			return errors.Join(err, m.Unlock(ctx))
		}
		l.enter(token)
		defer func() {
			l.exit()
			err = errors.Join(err, m.Unlock(ctx))
		}()
		if err := l.Claim(ctx, token); err != nil {
			return err
		}
		n, err := l.read(ctx)
		if err != nil {
			return err
		}
		return l.Apply(ctx, token.At(1), set(n+1))
	}
}
