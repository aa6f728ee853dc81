package natsfence_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/natsfence"
	"github.com/etcdfence/etcdfence/integration/natstest"
)

func TestOpenRefusesBadArguments(t *testing.T) {
	js, _ := fresh(t)
	ctx := t.Context()
	if _, err := natsfence.Open(ctx, nil, bucket, key, lock, nil); err == nil {
		t.Error("a nil js is accepted")
	}
	for _, bad := range []string{"", ".a", "a.", "a..b", "a b", "a*", ">", "é", "a\n"} {
		_, err := natsfence.Open(ctx, js, bucket, bad, lock, nil)
		if !errors.Is(err, jetstream.ErrInvalidKey) {
			t.Errorf("the key %q: %v", bad, err)
		}
	}
	for _, bad := range []string{"", "a.b", "a b"} {
		if _, err := natsfence.Open(ctx, js, bad, key, lock, nil); !errors.Is(err, jetstream.ErrInvalidBucketName) {
			t.Errorf("the bucket %q: %v", bad, err)
		}
	}
	_, err := natsfence.Open(ctx, js, "missing", key, lock, nil)
	mustBe(t, err, jetstream.ErrBucketNotFound)
	_, err = natsfence.Open(ctx, js, bucket, key, "a\n", nil)
	mustBe(t, err, fence.ErrBadToken)
	for _, opts := range []natsfence.Options{{Attempts: -1}, {Operations: -1}, {Timeout: -1}} {
		if _, err := natsfence.Open(ctx, js, bucket, key, lock, &opts); err == nil {
			t.Errorf("%+v is accepted", opts)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = natsfence.Open(ended, js, bucket, key, lock, nil)
	mustBe(t, err, context.Canceled)
}

// Buckets that drop the newest value of a key by themselves.
func TestBucketsThatForget(t *testing.T) {
	js, _ := fresh(t)
	ctx := t.Context()
	_, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "expires", TTL: time.Hour})
	must(t, err)
	_, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "copies", Mirror: &jetstream.StreamSource{Name: "KV_" + bucket}})
	must(t, err)
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: "KV_discards", Subjects: []string{"$KV.discards.>"},
		MaxMsgsPerSubject: 1, MaxBytes: 1 << 20, Discard: jetstream.DiscardOld, AllowRollup: true, DenyDelete: true})
	must(t, err)
	for _, name := range []string{"expires", "copies", "discards"} {
		_, err := natsfence.Open(ctx, js, name, key, lock, nil)
		if !errors.Is(err, natsfence.ErrBucket) {
			t.Errorf("%s: %v", name, err)
		}
		t.Log(err)
	}
}

func TestTooLarge(t *testing.T) {
	js, _ := fresh(t)
	ctx := t.Context()
	_, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "small", MaxValueSize: 1 << 10})
	must(t, err)
	_, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "full", MaxBytes: 4 << 10})
	must(t, err)
	r := open(t, js, nil)
	small, err := natsfence.Open(ctx, js, "small", key, lock, nil)
	must(t, err)
	for _, r := range []*natsfence.Resource{r, small} {
		must(t, r.Apply(ctx, at(t, 5, 1), set("one")))
		err := r.Apply(ctx, at(t, 5, 2), set(strings.Repeat("x", 2<<20)))
		mustBe(t, err, natsfence.ErrTooLarge)
		if fence.SafeToRetry(err) {
			t.Errorf("%v says that a retry helps", err)
		}
		marked(t, r, at(t, 5, 1))
	}
	full, err := natsfence.Open(ctx, js, "full", key, lock, nil)
	must(t, err)
	must(t, full.Apply(ctx, at(t, 5, 1), set("one")))
	err = full.Apply(ctx, at(t, 5, 2), set(strings.Repeat("x", 8<<10)))
	if err == nil || fence.SafeToRetry(err) {
		t.Fatalf("a bucket that is full: %v", err)
	}
	t.Log(err)
	marked(t, full, at(t, 5, 1))
}

// Nothing outlives its context, nor what one request may take.
func TestUnreachable(t *testing.T) {
	server := natstest.Start(t)
	nc := server.Connect(t)
	js, err := jetstream.New(nc)
	must(t, err)
	natstest.Bucket(t, js, bucket)
	r := open(t, js, &natsfence.Options{Timeout: 300 * time.Millisecond})
	must(t, r.Apply(t.Context(), at(t, 5, 1), set("one")))
	calls := map[string]func(context.Context) error{
		"Apply":  func(ctx context.Context) error { return r.Apply(ctx, at(t, 5, 2), set("two")) },
		"Claim":  func(ctx context.Context) error { return r.Claim(ctx, at(t, 6, 0).Token()) },
		"Mark":   func(ctx context.Context) error { _, err := r.Mark(ctx, lock); return err },
		"Body":   func(ctx context.Context) error { _, err := r.Body(ctx); return err },
		"Rebase": func(ctx context.Context) error { return r.Rebase(ctx, at(t, 5, 1), at(t, 4, 0)) },
	}
	server.Stop()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		err := within(t, 5*time.Second, func() error { return call(ctx) })
		mustBe(t, err, context.DeadlineExceeded)
		cancel()
		if err := within(t, 5*time.Second, func() error { return call(t.Context()) }); err == nil {
			t.Errorf("%s: no error from a server that is down", name)
		}
		err = within(t, 5*time.Second, func() error { return call(ended) })
		mustBe(t, err, context.Canceled)
		if errors.Is(err, fence.ErrUnknownOutcome) {
			t.Errorf("%s: %v, though nothing was sent", name, err)
		}
	}
	nc.Close()
	for name, call := range calls {
		err := within(t, 5*time.Second, func() error { return call(t.Context()) })
		if err == nil || fence.SafeToRetry(err) {
			t.Errorf("%s on a closed connection: %v", name, err)
		}
	}
	_, err = natsfence.Open(t.Context(), js, bucket, key, lock, nil)
	if err == nil {
		t.Error("Open on a closed connection says nothing")
	}
}
