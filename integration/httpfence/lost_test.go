package httpfence_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/httpfence"
)

// T20: the answer of an applied request is lost on the way. The client cannot know, and says
// so; the same stamp again tells. With an Idempotency-Key net/http sends again by itself, the
// same stamp, and the fence comes first; the recorded answer is for a new stamp.
func TestLostAnswer(t *testing.T) {
	for name, id := range map[string]string{"without a key": "", "with a key": "pay 17"} {
		t.Run(name, func(t *testing.T) {
			m := newStore(t)
			inner := httpfence.Handler(httpfence.Enforce(m), http.HandlerFunc(write), nil)
			var requests, losing atomic.Int64
			service := serveRaw(t, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				if losing.Add(-1) >= 0 {
					inner.ServeHTTP(discard{}, r)
					panic(http.ErrAbortHandler) // the connection breaks
				}
				inner.ServeHTTP(w, r)
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := service.put(fence.WithStamp(ctx, stamp(t, 4, 1)), "before"); err != nil {
				t.Fatal(err) // so that the connection is one that was used before
			}
			ctx = fence.WithStamp(ctx, stamp(t, 5, 1))
			if id != "" {
				ctx = fence.WithOperation(ctx, id)
			}
			losing.Store(1)
			got, err := service.put(ctx, "lost")
			if !errors.Is(err, fence.ErrUnknownOutcome) && !errors.Is(err, fence.ErrReplayed) {
				t.Fatalf("%v, %v", got, err)
			}
			_, err = service.put(ctx, "again")
			var refused *fence.RefusedError
			if !errors.Is(err, fence.ErrReplayed) || !errors.As(err, &refused) || refused.Mark != stamp(t, 5, 1) || value(t, m) != "lost" {
				t.Fatalf("the same stamp again: %v; the store has %q", err, value(t, m))
			}
			if id == "" {
				return
			}
			if requests.Load() != 4 {
				t.Errorf("%d requests: net/http did not send again", requests.Load())
			}
			got, err = service.put(fence.WithOperation(fence.WithStamp(ctx, stamp(t, 5, 2)), id), "again")
			if err != nil || got.body != "wrote lost" {
				t.Errorf("the recorded answer is %q, %v", got.body, err)
			}
		})
	}
}

// discard is where an answer is lost.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}
