package natsfence_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/natsfence"
	"github.com/etcdfence/etcdfence/integration/natstest"
)

// Requests that one call makes, by what the connection has sent.
func TestRoundTrips(t *testing.T) {
	server := natstest.Start(t)
	nc := server.Connect(t)
	js, err := jetstream.New(nc)
	must(t, err)
	natstest.Bucket(t, js, bucket)
	r, other := open(t, js, nil), open(t, server.JetStream(t), nil)
	count := func(what string, requests uint64, want error, f func() error) {
		t.Helper()
		before := nc.Stats().OutMsgs
		if err := f(); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
		if n := nc.Stats().OutMsgs - before; n != requests {
			t.Errorf("%s: %d requests, want %d", what, n, requests)
		}
	}
	ctx := t.Context()
	apply := func(s fence.Stamp) func() error { return func() error { return r.Apply(ctx, s, set(s.String())) } }
	claim := func(s fence.Stamp) func() error { return func() error { return r.Claim(ctx, s.Token()) } }
	count("the first claim ever", 2, nil, claim(at(t, 5, 0)))
	count("the claim again", 1, nil, claim(at(t, 5, 0)))
	count("a write", 1, nil, apply(at(t, 5, 1)))
	count("a replay", 1, fence.ErrReplayed, apply(at(t, 5, 1)))
	must(t, other.Apply(ctx, at(t, 5, 2), set("other")))
	count("a write after somebody else's", 3, nil, apply(at(t, 5, 3)))
	must(t, other.Claim(ctx, at(t, 6, 0).Token()))
	count("a stale write", 2, fence.ErrStale, apply(at(t, 5, 4)))
}

// Whatever the compare costs, no write of one hold is lost, and nobody waits for ever.
func TestManyWritersOfOneHold(t *testing.T) {
	for name, make := range map[string]func(*testing.T) jetstream.JetStream{
		"alone": func(t *testing.T) jetstream.JetStream { js, _ := fresh(t); return js },
		"replicated": func(t *testing.T) jetstream.JetStream {
			c := natstest.StartCluster(t, 3)
			js := c.JetStream(t)
			c.Bucket(t, js, bucket)
			return js
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			js := make(t)
			must(t, open(t, js, nil).Claim(t.Context(), at(t, 5, 0).Token()))
			const writers, each = 4, 10
			var all sync.WaitGroup
			for w := range writers {
				r := open(t, js, &natsfence.Options{AnyOrder: true})
				all.Go(func() {
					for i := range each {
						s := at(t, 5, int64(w*each+i+1))
						var err error
						for again := true; again; again = errors.Is(err, fence.ErrContended) {
							err = r.Apply(t.Context(), s, addOne)
						}
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			r := open(t, js, nil)
			if got := body(t, r); got != fmt.Sprint(writers*each) {
				t.Fatalf("the counter is %s after %d increments", got, writers*each)
			}
			marked(t, r, at(t, 5, writers*each))
		})
	}
}

func addOne(_ context.Context, tx *natsfence.Tx) error {
	n, _ := strconv.Atoi(string(tx.Body())) // 0 before the first
	tx.SetBody(fmt.Append(nil, n+1))
	return nil
}

// Others replace the value each time that the change runs.
func TestContended(t *testing.T) {
	js, _ := fresh(t)
	r, other := open(t, js, &natsfence.Options{Attempts: 3}), open(t, js, nil)
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	runs := 0
	meddle := func(ctx context.Context, tx *natsfence.Tx) error {
		runs++
		tx.SetBody([]byte("ours"))
		return other.Apply(ctx, at(t, 5, int64(runs)), set("theirs"))
	}
	mustBe(t, r.Apply(t.Context(), at(t, 5, 9), meddle), fence.ErrContended)
	if runs != 3 || body(t, r) != "theirs" {
		t.Fatalf("after %d runs the body is %q", runs, body(t, r))
	}
}

// A change that fails on what the handle remembers is asked again about what there is.
func TestErrorsAreOfTheNewestValue(t *testing.T) {
	js, _ := fresh(t)
	r, other := open(t, js, nil), open(t, js, nil)
	must(t, r.Apply(t.Context(), at(t, 5, 1), set("")))
	must(t, other.Apply(t.Context(), at(t, 5, 2), set("100")))
	must(t, r.Apply(t.Context(), at(t, 5, 3), func(_ context.Context, tx *natsfence.Tx) error {
		if string(tx.Body()) != "100" {
			return errors.New("no money")
		}
		tx.SetBody([]byte("0"))
		return nil
	}))
}

// What a change does to the bytes that it is given, or gave, has no effect.
func TestBodyIsACopy(t *testing.T) {
	js, _ := fresh(t)
	r := open(t, js, nil)
	kept := []byte("good")
	must(t, r.Apply(t.Context(), at(t, 5, 1), func(_ context.Context, tx *natsfence.Tx) error {
		tx.SetBody(kept)
		copy(kept, "evil")
		copy(tx.Body(), "evil")
		return nil
	}))
	must(t, r.Apply(t.Context(), at(t, 5, 2), func(_ context.Context, tx *natsfence.Tx) error {
		copy(tx.Body(), "evil")
		return nil
	}))
	must(t, r.Apply(t.Context(), at(t, 5, 3), func(context.Context, *natsfence.Tx) error { return nil }))
	if got := body(t, r); got != "good" {
		t.Fatalf("the body is %q", got)
	}
}

// Of the operations the newest are kept.
func TestOperationsAreBounded(t *testing.T) {
	js, _ := fresh(t)
	r := open(t, js, &natsfence.Options{Operations: 2})
	sequence := int64(0)
	do := func(id string) error {
		sequence++
		return r.Apply(fence.WithOperation(t.Context(), id), at(t, 5, sequence), set(id))
	}
	for _, id := range []string{"a", "b", "c"} {
		must(t, do(id))
	}
	mustBe(t, do("b"), fence.ErrDuplicate)
	mustBe(t, do("c"), fence.ErrDuplicate)
	must(t, do("a")) // forgotten, as documented
	mustBe(t, do("c"), fence.ErrDuplicate)
	must(t, do("b"))
}
