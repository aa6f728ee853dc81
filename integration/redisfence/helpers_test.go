package redisfence_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/redisfence"
	"github.com/etcdfence/etcdfence/integration/redistest"
)

const lock = "orders/42"

// place is a client and keys that no other test has.
type place struct {
	*redis.Client
	tag string
}

var places atomic.Int64

// fresh is a place on the shared server.
func fresh(t *testing.T) place {
	t.Helper()
	return place{redistest.Shared(t).Client(t), fmt.Sprintf("{orders/%d}", places.Add(1))}
}

func (p place) key(name string) string { return p.tag + name }
func (p place) mark() string           { return p.key(":fence") }

func (p place) open(t *testing.T, opts *redisfence.Options) *redisfence.Resource {
	t.Helper()
	r, err := redisfence.Open(t.Context(), p.Client, p.mark(), lock, opts)
	must(t, err)
	return r
}

// get is the string in a key, "" if it is missing.
func (p place) get(t *testing.T, name string) string {
	t.Helper()
	value, err := p.Get(t.Context(), p.key(name)).Result()
	if !errors.Is(err, redis.Nil) {
		must(t, err)
	}
	return value
}

func (p place) set(name, value string) change {
	return func(_ context.Context, tx *redisfence.Tx) error { tx.Set(p.key(name), value); return nil }
}

type change = func(context.Context, *redisfence.Tx) error

func do(f func(tx *redisfence.Tx)) change {
	return func(_ context.Context, tx *redisfence.Tx) error { f(tx); return nil }
}

func at(t *testing.T, revision, sequence int64) fence.Stamp {
	return owned(t, "holder", revision, sequence)
}

func owned(t *testing.T, owner string, revision, sequence int64) fence.Stamp {
	t.Helper()
	tok, err := fence.NewToken(lock, 0, revision, owner)
	must(t, err)
	return tok.At(sequence)
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

func marked(t *testing.T, r *redisfence.Resource, want fence.Stamp) {
	t.Helper()
	mark, err := r.Mark(t.Context(), lock)
	must(t, err)
	if mark != want {
		t.Fatalf("the mark is %v, want %v", mark, want)
	}
}

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
