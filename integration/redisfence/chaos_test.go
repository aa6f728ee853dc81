package redisfence_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/redisfence"
	"github.com/etcdfence/etcdfence/integration/redistest"
)

// The server is killed in the middle of writes, many times. Afterwards mark and data agree,
// all keys of a change do, and nothing that was reported as accepted is gone.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	opts := server.Options()
	opts.DialerRetries = 1
	client := redis.NewClient(opts)
	t.Cleanup(func() { must(t, client.Close()) })
	p := place{client, "{t}"}
	r := p.open(t, &redisfence.Options{Attempts: 1})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	const kills = 8
	wrote := make(chan struct{})
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for range kills {
			for range 40 { // let some pass, however fast the machine is
				<-wrote
			}
			if err := server.KillAndRestart(); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	var accepted, unknown int64
	sequence := int64(0)
	for done := false; !done; {
		sequence++
		s := at(t, 5, sequence)
		err := r.Apply(ctx, s, do(func(tx *redisfence.Tx) {
			tx.Set(p.key(":a"), s.String())
			tx.HSet(p.key(":b"), "last", s.String())
			tx.Del(p.key(":c"))
			tx.RPush(p.key(":c"), s.String())
		}))
		switch {
		case err == nil:
			accepted = sequence
		case errors.Is(err, fence.ErrUnknownOutcome), errors.Is(err, fence.ErrContended):
			unknown++
		case errors.Is(err, fence.ErrStale), errors.Is(err, fence.ErrReplayed), errors.Is(err, redisfence.ErrWentBack),
			errors.Is(err, redisfence.ErrForeign), ctx.Err() != nil:
			t.Fatalf("after %d: %v", accepted, err)
		}
		select {
		case wrote <- struct{}{}:
		case <-killed:
			done = true
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
	}
	var mark fence.Stamp
	var err error
	for { // until it is up
		if mark, err = r.Mark(ctx, lock); err == nil || ctx.Err() != nil {
			break
		}
	}
	must(t, err)
	want := ":a \"" + mark.String() + "\"\n:b map[last:" + mark.String() + "]\n:c [" + mark.String() + "]\n"
	if mark.Sequence() < accepted || p.dump(t) != want {
		t.Fatalf("the mark is %v, and there is\n%s; %d was accepted last", mark, p.dump(t), accepted)
	}
	t.Logf("%d writes, %d of them with an unknown outcome, %d kills; the mark is %v", sequence, unknown, kills, mark)
}

// A slot on its way from one node to another: the keys of a change may be on both.
func TestSlotOnItsWay(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	client := cluster.Client(t)
	const tag = "{orders/42}"
	r, err := redisfence.Open(t.Context(), client, tag+":fence", lock, nil)
	must(t, err)
	write := func(sequence int64) error {
		return r.Apply(t.Context(), at(t, 5, sequence), do(func(tx *redisfence.Tx) {
			tx.IncrBy(tag+":a", 1)
			tx.IncrBy(tag+":b", 1)
		}))
	}
	must(t, write(1))
	m := cluster.Migrate(t, tag)
	must(t, write(2))
	m.Key(t, tag+":fence") // the mark is there, the data are here
	err = write(3)
	if !errors.Is(err, fence.ErrContended) || !fence.SafeToRetry(err) {
		t.Fatalf("a split slot: %v", err)
	}
	m.Key(t, tag+":a")
	m.Key(t, tag+":b")
	must(t, write(3)) // by ASK
	m.Finish(t)
	must(t, write(4)) // by MOVED
	for _, key := range []string{":a", ":b"} {
		if got, err := client.Get(t.Context(), tag+key).Result(); err != nil || got != "4" {
			t.Fatalf("%s is %s, %v", key, got, err)
		}
	}
	mustBe(t, write(4), fence.ErrReplayed)

	// A cluster that lacks a part of its slots, as told by one that has another part.
	for _, node := range cluster.Nodes {
		if node != cluster.Owner(t, tag) {
			node.Kill(t)
		}
	}
	free, err := redisfence.Open(t.Context(), cluster.Owner(t, tag).Client(t), tag+":fence", lock, &redisfence.Options{AnySlot: true})
	must(t, err)
	for again := true; again; {
		err = free.Claim(t.Context(), at(t, 5, 0).Token())
		again = err == nil // until it has noticed
	}
	mustBe(t, err, fence.ErrContended)
}

// A change over slots, of which Redis alone knows that it cannot be.
func TestCrossSlot(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3)
	r, err := redisfence.Open(t.Context(), cluster.Client(t), "{a}:fence", lock, &redisfence.Options{AnySlot: true})
	must(t, err)
	err = r.Apply(t.Context(), at(t, 5, 1), do(func(tx *redisfence.Tx) { tx.Set("{a}:x", "1"); tx.Set("{b}:x", "1") }))
	if !errors.Is(err, redisfence.ErrSlot) || fence.SafeToRetry(err) {
		t.Fatal(err)
	}
	marked(t, r, fence.Stamp{})
	for _, script := range []string{`redis.call('SET', '{b}:x', '1')`} { // a key that was not named
		err = r.Apply(t.Context(), at(t, 5, 1), do(func(tx *redisfence.Tx) { tx.Run(redisfence.NewScript(script), []string{"{a}:x"}) }))
		if err == nil || fence.SafeToRetry(err) {
			t.Fatal(err)
		}
		t.Log(err)
	}
	marked(t, r, fence.Stamp{})
}
