package natsfence_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/natsfence"
	"github.com/etcdfence/etcdfence/integration/natstest"
)

const lock, bucket, key = "orders/42", "b", "orders.42"

// fresh is a server with an empty bucket.
func fresh(t *testing.T) (jetstream.JetStream, jetstream.KeyValue) {
	t.Helper()
	js := natstest.Start(t).JetStream(t)
	return js, natstest.Bucket(t, js, bucket)
}

func open(t *testing.T, js jetstream.JetStream, opts *natsfence.Options) *natsfence.Resource {
	t.Helper()
	r, err := natsfence.Open(t.Context(), js, bucket, key, lock, opts)
	must(t, err)
	return r
}

func at(t *testing.T, revision, sequence int64) fence.Stamp {
	t.Helper()
	tok, err := fence.NewToken(lock, 0, revision, "holder")
	must(t, err)
	return tok.At(sequence)
}

func set(body string) func(context.Context, *natsfence.Tx) error {
	return func(_ context.Context, tx *natsfence.Tx) error { tx.SetBody([]byte(body)); return nil }
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

func body(t *testing.T, r *natsfence.Resource) string {
	t.Helper()
	b, err := r.Body(t.Context())
	must(t, err)
	return string(b)
}

func marked(t *testing.T, r *natsfence.Resource, want fence.Stamp) {
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
