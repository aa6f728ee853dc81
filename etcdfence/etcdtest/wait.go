package etcdtest

import (
	"context"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// WaitGone returns when the key does not exist: at once if it is not there, or
// with the event that deletes it.
func (a *Admin) WaitGone(t testing.TB, key string) {
	t.Helper()
	a.wait(t, fmt.Sprintf("key %q to be gone", key), key, nil, func(n int) bool { return n == 0 })
}

// WaitKey returns when the key exists.
func (a *Admin) WaitKey(t testing.TB, key string) {
	t.Helper()
	a.wait(t, fmt.Sprintf("key %q", key), key, nil, func(n int) bool { return n > 0 })
}

// WaitQueued returns when at least n keys exist under the prefix: for etcd's
// lock recipe, when the holder and n-1 waiters have queued. The prefix of
// concurrency.NewMutex(session, "name") is "name/".
func (a *Admin) WaitQueued(t testing.TB, prefix string, n int) {
	t.Helper()
	a.wait(t, fmt.Sprintf("%d keys under %q", n, prefix), prefix,
		[]clientv3.OpOption{clientv3.WithPrefix()}, func(have int) bool { return have >= n })
}

// WaitEmpty returns when no key exists under the prefix.
func (a *Admin) WaitEmpty(t testing.TB, prefix string) {
	t.Helper()
	a.wait(t, fmt.Sprintf("no key under %q", prefix), prefix,
		[]clientv3.OpOption{clientv3.WithPrefix()}, func(n int) bool { return n == 0 })
}

// wait reads the keys, and reads them again after each event, until done is
// satisfied with their number.
func (a *Admin) wait(t testing.TB, what, key string, opts []clientv3.OpOption, done func(int) bool) {
	t.Helper()
	c, ctx, cancel := a.begin(t)
	defer cancel()
	n := -1
	for ctx.Err() == nil {
		resp, err := c.Get(ctx, key, append([]clientv3.OpOption{clientv3.WithCountOnly()}, opts...)...)
		if err != nil {
			continue // the server may be on its way back
		}
		if n = int(resp.Count); done(n) {
			return
		}
		awaitEvent(ctx, c, key, append([]clientv3.OpOption{clientv3.WithRev(resp.Header.Revision + 1)}, opts...))
	}
	t.Fatalf("etcdtest: waited %v for %s; keys there: %d", a.patience, what, n)
}

// awaitEvent returns after the first event, or when the watch ends for another
// reason: either way the caller looks again.
func awaitEvent(ctx context.Context, c *clientv3.Client, key string, opts []clientv3.OpOption) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for resp := range c.Watch(ctx, key, opts...) {
		if len(resp.Events) > 0 || resp.Err() != nil {
			return
		}
	}
}
