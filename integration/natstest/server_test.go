package natstest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/etcdfence/etcdfence/integration/natstest"
)

func TestMain(m *testing.M) {
	natstest.Main()
	goleak.VerifyTestMain(m)
}

func keeps(t *testing.T, kv jetstream.KeyValue, want string) {
	t.Helper()
	var err error
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for late := time.Now().Add(20 * time.Second); time.Now().Before(late); <-again.C {
		var e jetstream.KeyValueEntry
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond) // until it is connected again
		e, err = kv.Get(ctx, "k")
		cancel()
		if err == nil {
			if string(e.Value()) != want {
				t.Fatalf("got %q, want %q", e.Value(), want)
			}
			return
		}
	}
	t.Fatal(err)
}

func put(t *testing.T, kv jetstream.KeyValue, value string) {
	t.Helper()
	if _, err := kv.PutString(t.Context(), "k", value); err != nil {
		t.Fatal(err)
	}
}

func TestRestartKeepsTheData(t *testing.T) {
	s := natstest.Start(t, natstest.WithSync())
	kv := natstest.Bucket(t, s.JetStream(t), "b")
	put(t, kv, "1")
	url := s.URL()
	s.Restart(t)
	if s.URL() != url {
		t.Fatalf("the address was %s and is %s", url, s.URL())
	}
	keeps(t, kv, "1")
}

func TestKilledProcessKeepsTheData(t *testing.T) {
	p := natstest.StartProcess(t)
	kv := natstest.Bucket(t, p.JetStream(t), "b")
	put(t, kv, "1")
	p.Kill()
	p.Restart(t)
	keeps(t, kv, "1")
}

func TestClusterOutlivesItsLeader(t *testing.T) {
	c := natstest.StartCluster(t, 3)
	kv := c.Bucket(t, c.JetStream(t), "b")
	put(t, kv, "1")
	restart := c.StopLeader(t, "b")
	keeps(t, kv, "1")
	restart()
	keeps(t, kv, "1")
}

func TestLostAnswerWasStored(t *testing.T) {
	s := natstest.Start(t)
	p := natstest.NewProxy(t, s.URL())
	kv := natstest.Bucket(t, p.JetStream(t), "b")
	put(t, kv, "1")
	p.Lose(1)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := kv.PutString(ctx, "k", "2"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want no answer", err)
	}
	if p.Lost() != 1 {
		t.Fatalf("%d answers were lost", p.Lost())
	}
	keeps(t, kv, "2")
}
