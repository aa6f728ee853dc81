package grpcfence

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/etcdfence/etcdfence/fence"
)

// ServiceName is that of the service that [RegisterMarks] adds. It has two methods: "Claim"
// takes a google.protobuf.Empty, with the stamp in the metadata, and answers with one; "Mark"
// takes the lock as a google.protobuf.StringValue and answers with the mark's text form, the
// empty string if nothing was accepted yet.
const ServiceName = "etcdfence.v1.Marks"

const (
	claimMethod = "/" + ServiceName + "/Claim"
	markMethod  = "/" + ServiceName + "/Mark"
)

// ours reports whether a call is for the marks, which the interceptors leave alone: they
// answer for themselves.
func ours(method string) bool { return strings.HasPrefix(method, "/"+ServiceName+"/") }

// RegisterMarks serves the claims and the mark of a resource, which is what a [Remote] needs
// besides the methods that [Enforce] or [HandOver] guards.
func RegisterMarks[T any](s grpc.ServiceRegistrar, r fence.FencedResource[T]) {
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: ServiceName,
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			unary("Claim", func(ctx context.Context, _ *emptypb.Empty) (*emptypb.Empty, error) {
				s, ctx, err := incoming(ctx)
				if err == nil && s.Sequence() != 0 {
					err = fmt.Errorf("%w: a claim has the sequence 0", fence.ErrBadToken)
				}
				if err == nil {
					err = r.Claim(ctx, s.Token())
				}
				return &emptypb.Empty{}, err
			}),
			unary("Mark", func(ctx context.Context, lock *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
				if err := fence.CheckLock(lock.GetValue()); err != nil {
					return nil, err
				}
				mark, err := r.Mark(ctx, lock.GetValue())
				if err != nil || mark.IsZero() {
					return &wrapperspb.StringValue{}, err
				}
				text, err := mark.MarshalText()
				return wrapperspb.String(string(text)), err
			}),
		},
	}, r)
}

// unary is what protoc would generate for one method.
func unary[In, Out any](name string, serve func(context.Context, *In) (*Out, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name,
		Handler: func(srv any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			in := new(In)
			if err := decode(in); err != nil {
				return nil, err
			}
			handle := func(ctx context.Context, req any) (any, error) {
				out, err := serve(ctx, req.(*In))
				if err != nil {
					return nil, toStatus(err)
				}
				return out, nil
			}
			if intercept == nil {
				return handle(ctx, in)
			}
			return intercept(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: "/" + ServiceName + "/" + name}, handle)
		}}
}
