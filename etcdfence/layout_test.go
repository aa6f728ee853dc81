package etcdfence_test

import (
	"errors"
	"testing"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
)

// Which lock a key belongs to can be told from the key, and only from one that the
// adapter would make.
func TestKeyPrefixAndBack(t *testing.T) {
	server := start(t)
	for _, prefix := range []string{"", "/", "/locks", "a%2Fb/c"} {
		opts := &etcdfence.Options{Prefix: prefix}
		a := adapter(t, server.NewClient(t), opts)
		for _, name := range []string{"orders", "orders/42", "%2F", "%", "/", "日本"} {
			h := lock(t, a, name)
			raw, err := opts.KeyPrefix(name)
			if err != nil {
				t.Fatal(err)
			}
			if got, lease, ok := opts.ParseKey(h.Key()); got != name || lease != h.Lease() || !ok {
				t.Errorf("the key %q is of %q under %x, %v", h.Key(), got, lease, ok)
			}
			session, err := concurrency.NewSession(server.Client(), concurrency.WithTTL(2))
			if err != nil {
				t.Fatal(err)
			}
			if err := concurrency.NewMutex(session, raw).TryLock(t.Context()); !errors.Is(err, concurrency.ErrLocked) {
				t.Errorf("a raw mutex of %q: %v", raw, err)
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			release(t, h)
		}
	}
}

func TestKeysOfNoLock(t *testing.T) {
	opts := &etcdfence.Options{Prefix: "/locks"}
	for _, key := range []string{
		"", "/locks", "/locks/", "/locks/a", "/locks/a/", "/locks//1", "/lock/a/1", "a/1", "/locks/a/b/1", "/locks/a/1/",
		"/locks/a/x", "/locks/a/-1", "/locks/a/0", "/locks/a/01", "/locks/a/1A", "/locks/a/ffffffffffffffff",
		"/locks/%2f/1", "/locks/a%/1", "/locks/%41/1", "/locks/a\x00/1", "/locks/a\xff/1",
	} {
		if name, lease, ok := opts.ParseKey(key); ok {
			t.Errorf("%q is of the lock %q under %x", key, name, lease)
		}
	}
	if _, err := opts.KeyPrefix(""); !errors.Is(err, etcdfence.ErrBadName) {
		t.Error(err)
	}
	if _, err := (&etcdfence.Options{Prefix: "//"}).KeyPrefix("a"); !errors.Is(err, etcdfence.ErrBadName) {
		t.Error(err)
	}
	if raw, err := (*etcdfence.Options)(nil).KeyPrefix("a/b"); err != nil || raw != "a%2Fb" {
		t.Errorf("%q, %v", raw, err)
	}
}
