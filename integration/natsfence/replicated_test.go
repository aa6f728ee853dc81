package natsfence_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/natsfence"
	"github.com/etcdfence/etcdfence/integration/natstest"
)

// One conflict, two codes. A replicated stream answers with the second while it has another
// message for the key under way.
func TestCodesOfALostCompare(t *testing.T) {
	t.Run("alone", func(t *testing.T) {
		js, kv := fresh(t)
		revision, err := kv.PutString(t.Context(), "plain", "1")
		must(t, err)
		_, err = kv.Update(t.Context(), "plain", nil, revision+7)
		if code(t, err) != 10071 {
			t.Errorf("the code is another: %v", err)
		}
		overtake(t, js)
	})
	t.Run("replicated", func(t *testing.T) {
		c := natstest.StartCluster(t, 3)
		js := c.JetStream(t)
		kv := c.Bucket(t, js, bucket)
		for seen := map[jetstream.ErrorCode]bool{}; !seen[10164]; {
			revision, err := kv.PutString(t.Context(), "plain", "1")
			must(t, err)
			var errs [8]error
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() { _, errs[i] = kv.Update(t.Context(), "plain", nil, revision) })
			}
			all.Wait()
			won := 0
			for _, err := range errs {
				if err == nil {
					won++
				} else {
					seen[code(t, err)] = true
				}
			}
			if won != 1 {
				t.Fatalf("%d updates of one revision have won", won)
			}
		}
		overtake(t, js)
	})
}

func code(t *testing.T, err error) jetstream.ErrorCode {
	t.Helper()
	var answer *jetstream.APIError
	if !errors.As(err, &answer) {
		t.Fatal(err)
	}
	return answer.ErrorCode
}

// overtake lets two handles replace each other's value.
func overtake(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	r, other := open(t, js, nil), open(t, js, nil)
	must(t, r.Apply(t.Context(), at(t, 5, 1), set("one")))
	must(t, other.Apply(t.Context(), at(t, 5, 2), set("two")))
	must(t, r.Apply(t.Context(), at(t, 5, 3), set("three")))
	must(t, other.Claim(t.Context(), at(t, 6, 0).Token()))
	mustBe(t, r.Apply(t.Context(), at(t, 5, 4), set("four")), fence.ErrStale)
}

// The leader of the stream ends in order while a handle writes.
func TestLeaderChange(t *testing.T) {
	c := natstest.StartCluster(t, 3)
	js := c.JetStream(t)
	c.Bucket(t, js, bucket)
	r := open(t, js, &natsfence.Options{Timeout: requestTimeout})
	must(t, r.Apply(t.Context(), at(t, 5, 1), set("one")))
	restart := c.StopLeader(t, bucket)
	s, unknown := at(t, 5, 2), false
	for {
		err := r.Apply(t.Context(), s, set("two"))
		if unknown && errors.Is(err, fence.ErrReplayed) {
			break
		}
		if err == nil {
			break
		}
		unknown = unknown || errors.Is(err, fence.ErrUnknownOutcome)
		t.Logf("while the stream elects: %v", err)
		if errors.Is(err, fence.ErrStale) || errors.Is(err, natsfence.ErrDeleted) {
			t.Fatal(err)
		}
	}
	marked(t, r, s)
	restart()
	must(t, r.Apply(t.Context(), at(t, 5, 3), set("three")))
	mustBe(t, r.Apply(t.Context(), at(t, 5, 2), set("late")), fence.ErrReplayed)
}
