package etcdkv_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/etcdfence/etcdkv"
	"github.com/etcdfence/etcdfence/fence"
)

const lock = "orders/42"

func open(t *testing.T, client *clientv3.Client, opts *etcdkv.Options) *etcdkv.Resource {
	t.Helper()
	r, err := etcdkv.New(client, "/accounts/", lock, opts)
	must(t, err)
	return r
}

func at(t *testing.T, revision, sequence int64) fence.Stamp {
	t.Helper()
	tok, err := fence.NewToken(lock, 0, revision, "holder")
	must(t, err)
	return tok.At(sequence)
}

func put(key, value string) func(context.Context, *etcdkv.Tx) error {
	return func(_ context.Context, tx *etcdkv.Tx) error { tx.Put(key, value); return nil }
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustBe(t *testing.T, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Fatalf("got %v, want %q", err, w)
		}
	}
}

func value(t *testing.T, r *etcdkv.Resource, key string) string {
	t.Helper()
	v, _, err := r.Get(t.Context(), key)
	must(t, err)
	return v
}

func marked(t *testing.T, r *etcdkv.Resource, want fence.Stamp) {
	t.Helper()
	mark, err := r.Mark(t.Context(), lock)
	must(t, err)
	if mark != want {
		t.Fatalf("the mark is %v, want %v", mark, want)
	}
}

// within fails the test if f takes longer, and returns its error.
func within(t *testing.T, d time.Duration, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(d):
		t.Fatalf("still busy after %v", d)
		return nil
	}
}
