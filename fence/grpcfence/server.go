package grpcfence

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/etcdfence/etcdfence/fence"
)

// DefaultHeld is what zero means for [ServerOptions].Held.
const DefaultHeld = 16 << 20

// ServerOptions of [UnaryServer] and [StreamServer]. nil and the zero value work.
type ServerOptions struct {
	// Guarded says of which methods ("/package.Service/Method") a stamp is required; the
	// others are left alone. nil means all: no method that writes is forgotten that way.
	Guarded func(method string) bool

	// Held bounds the answers of one stream, in bytes, that are held back until the write is
	// certain. Zero means [DefaultHeld].
	Held int
}

func (o *ServerOptions) guarded(method string) bool {
	return !ours(method) && (o == nil || o.Guarded == nil || o.Guarded(method))
}

// UnaryServer requires a stamp and lets the guard compare it. The handler's errors come back
// as they are, package fence's as a status that [UnaryClient] understands.
//
// Under [Enforce] a request with an operation id that was done before is answered with what
// was answered then, if the resource records operations: the answer is recorded in the same
// step as the change. Answers that are no protobuf messages are not recorded.
func UnaryServer(guard Guard, opts *ServerOptions) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if !opts.guarded(info.FullMethod) {
			return handler(ctx, req)
		}
		s, ctx, err := incoming(ctx)
		if err != nil {
			return nil, toStatus(err)
		}
		var resp any
		err = guard.run(ctx, s, func(ctx context.Context) (err error) {
			if resp, err = handler(ctx, req); err != nil {
				return err
			}
			return remember(ctx, guard, resp)
		})
		if err == nil {
			return resp, nil
		}
		if before, ok := recorded(guard, err); ok {
			return before, nil
		}
		return nil, toStatus(err)
	}
}

// remember records the answer as the operation's result.
func remember(ctx context.Context, guard Guard, resp any) error {
	op := fence.OperationFrom(ctx)
	m, ok := resp.(proto.Message)
	if op == nil || !ok || !guard.settles() {
		return nil
	}
	a, err := anypb.New(m)
	if err != nil {
		return fmt.Errorf("grpcfence: recording the answer: %w", err)
	}
	b, err := proto.Marshal(a)
	if err != nil {
		return fmt.Errorf("grpcfence: recording the answer: %w", err)
	}
	op.SetResult(b)
	return nil
}

// recorded returns the answer that a duplicate was given before.
func recorded(guard Guard, err error) (resp any, ok bool) {
	var done *fence.DuplicateError
	if !guard.settles() || !errors.As(err, &done) || done.Result == nil {
		return nil, false
	}
	var a anypb.Any
	if proto.Unmarshal(done.Result, &a) != nil {
		return nil, false // recorded by somebody else, for whom it has another meaning
	}
	m, err := a.UnmarshalNew()
	return m, err == nil
}

// StreamServer is UnaryServer for streams: the stream as a whole is one write. Under
// [Enforce] what the handler sends is held back until the write is certain, up to
// [ServerOptions].Held bytes, so that nobody is told of what is then refused; and a resource
// that would run its change a second time gets [fence.ErrContended], because requests cannot
// be received twice: the client opens the stream anew with the same stamp.
func StreamServer(guard Guard, opts *ServerOptions) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if !opts.guarded(info.FullMethod) {
			return handler(srv, stream)
		}
		s, ctx, err := incoming(stream.Context())
		if err != nil {
			return toStatus(err)
		}
		held := &serverStream{ServerStream: stream, hold: guard.settles(), room: DefaultHeld}
		if opts != nil && opts.Held > 0 {
			held.room = opts.Held
		}
		ran := false
		err = guard.run(ctx, s, func(ctx context.Context) error {
			if ran {
				return fmt.Errorf("grpcfence: a stream cannot be handled twice: %w", fence.ErrContended)
			}
			ran = true
			held.ctx = ctx
			return handler(srv, held)
		})
		if err != nil {
			return toStatus(err)
		}
		return held.flush()
	}
}

type serverStream struct {
	grpc.ServerStream
	ctx  context.Context
	hold bool
	room int // bytes that may still be held
	held []proto.Message
}

// Context has the stamp, or the transaction.
func (s *serverStream) Context() context.Context { return s.ctx }

// SendMsg holds the message back until the outcome is known.
func (s *serverStream) SendMsg(m any) error {
	if !s.hold {
		return s.ServerStream.SendMsg(m)
	}
	message, ok := m.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "grpcfence: %T is no protobuf message and cannot be held back", m)
	}
	if s.room -= proto.Size(message); s.room < 0 {
		return status.Error(codes.ResourceExhausted, "grpcfence: more answers than can be held back until the write is certain")
	}
	s.held = append(s.held, proto.Clone(message)) // the handler may use its own again
	return nil
}

func (s *serverStream) flush() error {
	for _, m := range s.held {
		if err := s.ServerStream.SendMsg(m); err != nil {
			return err
		}
	}
	return nil
}
