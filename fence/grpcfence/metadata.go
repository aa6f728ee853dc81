package grpcfence

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/metadata"

	"github.com/etcdfence/etcdfence/fence"
)

// The names of the metadata. An operation id may be any text, which only a "-bin" may be.
const (
	StampKey     = "fence-stamp"
	OperationKey = "fence-operation-bin"
)

// outgoing adds the stamp of ctx, and its operation id, to what is sent. It returns false if
// ctx has no stamp.
func outgoing(ctx context.Context) (context.Context, bool, error) {
	s, err := fence.StampFrom(ctx)
	if errors.Is(err, fence.ErrNoToken) {
		return ctx, false, nil
	}
	op := fence.OperationFrom(ctx)
	if op != nil {
		if err := op.Check(); err != nil {
			return ctx, false, err
		}
	}
	if ctx, err = withStamp(ctx, s); err != nil {
		return ctx, false, err
	}
	if op != nil {
		ctx = metadata.AppendToOutgoingContext(ctx, OperationKey, op.ID())
	}
	return ctx, true, nil
}

// withStamp has the stamp sent, and no operation id. Somebody may have stamped already: this
// stamp counts.
func withStamp(ctx context.Context, s fence.Stamp) (context.Context, error) {
	text, err := s.MarshalText()
	if err != nil {
		return ctx, err
	}
	md, _ := metadata.FromOutgoingContext(ctx) // a copy
	if md == nil {
		md = metadata.MD{}
	}
	md.Set(StampKey, string(text))
	md.Delete(OperationKey)
	return metadata.NewOutgoingContext(ctx, md), nil
}

// incoming returns the stamp that a call carries, and a context with its operation id.
func incoming(ctx context.Context) (fence.Stamp, context.Context, error) {
	var s fence.Stamp
	switch texts := metadata.ValueFromIncomingContext(ctx, StampKey); len(texts) {
	case 0:
		return s, ctx, fence.ErrNoToken
	case 1:
		if err := s.UnmarshalText([]byte(texts[0])); err != nil {
			return s, ctx, err
		}
	default:
		return s, ctx, fmt.Errorf("%w: %d stamps", fence.ErrBadToken, len(texts))
	}
	switch ids := metadata.ValueFromIncomingContext(ctx, OperationKey); len(ids) {
	case 0:
		return s, ctx, nil
	case 1:
		ctx = fence.WithOperation(ctx, ids[0])
		return s, ctx, fence.OperationFrom(ctx).Check()
	default:
		return s, ctx, fmt.Errorf("%w: %d of them", fence.ErrBadOperation, len(ids))
	}
}
