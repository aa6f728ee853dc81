package kit

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
)

// patience is how long one question may take, with all its retries.
const patience = 30 * time.Second

// ask puts one question to the resource. Contention is asked away: nothing happened.
// A lost reply is not: it is an answer of its own.
func ask[T any](ctx context.Context, s fencetest.Subject[T], r fence.FencedResource[T], in input) output {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		var out output
		switch in.kind {
		case mark:
			out.stamp, out.err = r.Mark(ctx, in.lock)
		case read:
			out.value, out.err = s.Read(ctx)
		case claim:
			out.err = r.Claim(ctx, in.stamp.Token())
		default:
			out.err = r.Apply(ctx, in.stamp, func(ctx context.Context, tx T) error { return s.Write(ctx, tx, in.value) })
		}
		if !errors.Is(out.err, fence.ErrContended) || !fence.SafeToRetry(out.err) || ctx.Err() != nil {
			out.unknown = fence.SafeToRetry(out.err) && errors.Is(out.err, fence.ErrUnknownOutcome)
			return out
		}
		runtime.Gosched()
	}
}

// handles are n ways to the resource, as far apart as the subject can have them.
func handles[T any](ctx context.Context, s fencetest.Subject[T], n int) ([]fence.FencedResource[T], error) {
	all := []fence.FencedResource[T]{s.Resource()}
	for len(all) < n {
		r := s.Resource()
		if sharer, ok := s.(fencetest.Sharer[T]); ok {
			var err error
			if r, err = sharer.Share(ctx); err != nil {
				return nil, err
			}
		}
		all = append(all, r)
	}
	return all, nil
}
