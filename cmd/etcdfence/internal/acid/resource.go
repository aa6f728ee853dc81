package acid

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

// resource is a boundary that is one of this library's resources, or anybody's.
type resource[T any] struct {
	fenced fence.FencedResource[T]
	set    func(ctx context.Context, tx T, value string) error
	read   func(ctx context.Context) (string, error)
	close  func(ctx context.Context) error
}

func (r *resource[T]) apply(ctx context.Context, s fence.Stamp, value string) error {
	err := r.fenced.Apply(ctx, s, func(ctx context.Context, tx T) error { return r.set(ctx, tx, value) })
	var refused *fence.RefusedError
	if errors.As(err, &refused) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

func (r *resource[T]) Write(ctx context.Context, w Write) error {
	return r.apply(ctx, w.Stamp, w.Value)
}

func (r *resource[T]) Anonymous(ctx context.Context, value string) error {
	return r.apply(ctx, fence.Stamp{}, value)
}

func (r *resource[T]) Abandon(ctx context.Context, w Write) error {
	return abandon(ctx, func(ctx context.Context) error { return r.Write(ctx, w) })
}

func (r *resource[T]) Read(ctx context.Context) (string, error) { return r.read(ctx) }
func (r *resource[T]) Owners() bool                             { return true }
func (r *resource[T]) Close(ctx context.Context) error          { return r.close(ctx) }

// abandon gives up on a write at a moment that cannot be foreseen.
func abandon(ctx context.Context, write func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, rand.N(3*time.Millisecond))
	defer cancel()
	_ = write(ctx) // whatever came of it, nobody hears
	return nil
}
