package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

// join returns a memory store and a worker's end of it.
func join(t *testing.T) (*memoryStore, *remote) {
	t.Helper()
	m, err := newMemoryStore(lockName)
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.line()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	r := newRemote(conn)
	t.Cleanup(func() {
		r.Close()
		if err := m.close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return m, r
}

func token(t *testing.T, lock string, revision int64) fence.Token {
	t.Helper()
	token, err := fence.NewToken(lock, 0, revision, fmt.Sprintf("owner of %d", revision))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func set(value string) func(context.Context, *change) error {
	return func(_ context.Context, c *change) error { c.value = value; return nil }
}

// The rule holds over the connection, and a refusal is one at the other end.
func TestRemote(t *testing.T) {
	m, r := join(t)
	ctx := t.Context()
	older, newer := token(t, lockName, 4), token(t, lockName, 9)
	for i, step := range []struct {
		err, want error
	}{
		{r.Claim(ctx, older), nil},
		{r.Apply(ctx, older.At(1), set("v0")), nil},
		{r.Claim(ctx, newer), nil},
		{r.Apply(ctx, newer.At(1), set("v2")), nil},
		{r.Apply(ctx, older.At(2), set("v1")), fence.ErrStale},
		{r.Apply(ctx, newer.At(1), set("v3")), fence.ErrReplayed},
		{r.Apply(ctx, fence.Stamp{}, set("v3")), fence.ErrNoToken},
		{r.Claim(ctx, older), fence.ErrStale},
		{r.Claim(ctx, token(t, "other", 10)), fence.ErrWrongLock},
	} {
		if !errors.Is(step.err, step.want) {
			t.Errorf("step %d: got %v, want %v", i, step.err, step.want)
		}
	}
	var refused *fence.RefusedError
	if err := r.Apply(ctx, older.At(3), set("v1")); !errors.As(err, &refused) || refused.Mark != newer.At(1) || refused.Presented != older.At(3) {
		t.Errorf("the refusal has lost its stamps: %v", err)
	}
	if err := r.plain(ctx, "v1"); err != nil {
		t.Error(err)
	}
	for fenced, want := range map[bool]string{true: "v2", false: "v1"} {
		if got, err := m.holds(ctx, fenced); got != want || err != nil {
			t.Errorf("fence %v: holds %q (%v), want %q", fenced, got, err, want)
		}
	}
}

// A change that fails is not sent, and a connection that is gone leaves a doubt.
func TestRemoteFailures(t *testing.T) {
	m, r := join(t)
	mine := errors.New("mine")
	if err := r.Apply(t.Context(), token(t, lockName, 1).At(1), func(context.Context, *change) error { return mine }); !errors.Is(err, mine) {
		t.Error(err)
	}
	if err := r.call(t.Context(), request{Op: "dance"}); err == nil {
		t.Error("an unknown request was answered")
	}
	if err := m.close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := r.Claim(t.Context(), token(t, lockName, 1)); !errors.Is(err, fence.ErrUnknownOutcome) {
		t.Errorf("got %v, want an unknown outcome", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Claim(ctx, token(t, lockName, 1)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
