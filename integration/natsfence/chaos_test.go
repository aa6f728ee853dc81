package natsfence_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/natsfence"
	"github.com/etcdfence/etcdfence/integration/natstest"
)

// The server is killed in the middle of writes, many times. Afterwards mark and body agree:
// the body is what the stamp in the mark has written, and nothing that was reported as
// accepted is gone.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	server := natstest.StartProcess(t)
	natstest.Bucket(t, server.JetStream(t), bucket)
	js, err := jetstream.New(server.Connect(t, nats.ReconnectBufSize(-1)))
	must(t, err)
	r := open(t, js, &natsfence.Options{Timeout: 250 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	const kills = 8
	wrote := make(chan struct{})
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for range kills {
			for range 15 { // let some pass, however fast the machine is
				<-wrote
			}
			server.Kill()
			if err := server.StartAgain(); err != nil {
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
		err := r.Apply(ctx, s, set(s.String()))
		switch {
		case err == nil:
			accepted = sequence
		case errors.Is(err, fence.ErrUnknownOutcome), errors.Is(err, fence.ErrContended):
			unknown++
		case errors.Is(err, fence.ErrStale), errors.Is(err, fence.ErrReplayed), errors.Is(err, natsfence.ErrDeleted), ctx.Err() != nil:
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
	for { // until the connection is back
		if mark, err = r.Mark(ctx, lock); err == nil || ctx.Err() != nil {
			break
		}
	}
	must(t, err)
	if mark.Sequence() < accepted || body(t, r) != mark.String() {
		t.Fatalf("the mark is %v and the body %q; %d was accepted last", mark, body(t, r), accepted)
	}
	t.Logf("%d writes, %d of them with an unknown outcome, %d kills; the mark is %v", sequence, unknown, kills, mark)
}

// T20 for our own retries: Bound sends the same stamp again, and it was applied once.
func TestLostReplyThroughBound(t *testing.T) {
	server := natstest.Start(t)
	proxy := natstest.NewProxy(t, server.URL())
	js := proxy.JetStream(t)
	natstest.Bucket(t, js, bucket)
	r := open(t, js, &natsfence.Options{Timeout: 300 * time.Millisecond})
	a, err := etcdfence.New(etcdtest.Start(t).NewClient(t), nil)
	must(t, err)
	t.Cleanup(func() { must(t, a.Close()) })
	n := 0
	must(t, etcdfence.Do(t.Context(), a, lock, r, func(ctx context.Context, w *etcdfence.Bound[*natsfence.Tx]) error {
		for range 3 {
			proxy.Lose(1)
			if err := w.Apply(ctx, addOne); err != nil {
				return err
			}
			n++
		}
		return nil
	}))
	if body(t, r) != fmt.Sprint(n) || proxy.Lost() != n {
		t.Fatalf("the counter is %s after %d increments, %d replies were lost", body(t, r), n, proxy.Lost())
	}
}
