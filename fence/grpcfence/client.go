package grpcfence

import (
	"context"

	"google.golang.org/grpc"
)

// UnaryClient sends the stamp of the call's context (see [github.com/etcdfence/etcdfence/fence.WithStamp]), and its
// operation id, and turns the server's refusal into package fence's error: errors.Is and
// errors.As find it, and [google.golang.org/grpc/status.FromError] the status. A call
// without a stamp is left alone.
//
// A malformed operation id is [github.com/etcdfence/etcdfence/fence.ErrBadOperation], and nothing is sent. An end without
// an answer of the fence matches [github.com/etcdfence/etcdfence/fence.ErrUnknownOutcome]: send the same stamp again.
func UnaryClient() grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		ctx, stamped, err := outgoing(ctx)
		if err != nil {
			return err
		}
		err = invoke(ctx, method, req, reply, cc, opts...)
		if !stamped {
			return err
		}
		return fromStatus(err)
	}
}

// StreamClient is UnaryClient for streams: the stream as a whole is the write that the stamp
// is for. Errors of the messages come back as those of UnaryClient; io.EOF stays what it is.
func StreamClient() grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		ctx, stamped, err := outgoing(ctx)
		if err != nil {
			return nil, err
		}
		stream, err := open(ctx, desc, cc, method, opts...)
		if !stamped {
			return stream, err
		}
		if err != nil {
			return nil, fromStatus(err)
		}
		return &clientStream{stream}, nil
	}
}

type clientStream struct{ grpc.ClientStream }

// SendMsg returns io.EOF if the server has ended the stream; RecvMsg then says why.
func (s *clientStream) SendMsg(m any) error { return fromStatus(s.ClientStream.SendMsg(m)) }

// RecvMsg returns io.EOF at the end of a stream that came out.
func (s *clientStream) RecvMsg(m any) error { return fromStatus(s.ClientStream.RecvMsg(m)) }
