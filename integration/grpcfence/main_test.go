// Package grpcfence_test sends stamps over real sockets to servers that enforce them.
package grpcfence_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/grpcfence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lock = "orders/42"

// service is gRPC's own test service: a payload of bytes in, one out.
type service struct {
	testgrpc.UnimplementedTestServiceServer
	unary  func(ctx context.Context, body string) (string, error)
	stream func(ctx context.Context, s testgrpc.TestService_FullDuplexCallServer) error
}

func (s *service) UnaryCall(ctx context.Context, in *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
	out, err := s.unary(ctx, string(in.GetPayload().GetBody()))
	return &testgrpc.SimpleResponse{Payload: &testgrpc.Payload{Body: []byte(out)}}, err
}

func (s *service) FullDuplexCall(stream testgrpc.TestService_FullDuplexCallServer) error {
	return s.stream(stream.Context(), stream)
}

// serve runs the service behind the guard and returns a client of it.
func serve(t *testing.T, guard grpcfence.Guard, opts *grpcfence.ServerOptions, s *service) testgrpc.TestServiceClient {
	t.Helper()
	return dial(t, listen(t, guard, opts, s))
}

func listen(t *testing.T, guard grpcfence.Guard, opts *grpcfence.ServerOptions, s *service) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := grpc.NewServer(grpc.UnaryInterceptor(grpcfence.UnaryServer(guard, opts)),
		grpc.StreamInterceptor(grpcfence.StreamServer(guard, opts)), grpc.WaitForHandlers(true))
	testgrpc.RegisterTestServiceServer(server, s)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { server.Stop(); serving.Wait() })
	return listener.Addr().String()
}

func dial(t *testing.T, address string, opts ...grpc.DialOption) testgrpc.TestServiceClient {
	t.Helper()
	conn, err := grpc.NewClient(address, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(grpcfence.UnaryClient()), grpc.WithStreamInterceptor(grpcfence.StreamClient()))...)
	must(t, err)
	t.Cleanup(func() { must(t, conn.Close()) })
	return testgrpc.NewTestServiceClient(conn)
}

func call(ctx context.Context, c testgrpc.TestServiceClient, body string) (string, error) {
	out, err := c.UnaryCall(ctx, &testgrpc.SimpleRequest{Payload: &testgrpc.Payload{Body: []byte(body)}})
	return string(out.GetPayload().GetBody()), err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func stamp(t *testing.T, revision, sequence int64) fence.Stamp {
	t.Helper()
	token, err := fence.NewToken(lock, 0, revision, "holder")
	must(t, err)
	return token.At(sequence)
}

// value is the one value of a memory resource.
func value(t *testing.T, m *fence.Memory) string {
	t.Helper()
	v, _, err := m.Get(t.Context(), "value")
	must(t, err)
	return v
}

// newStore is a resource and a service that writes to it.
func newStore(t *testing.T) (*fence.Memory, *service) {
	t.Helper()
	m, err := fence.NewMemory(lock)
	must(t, err)
	return m, &service{unary: func(ctx context.Context, body string) (string, error) {
		tx, err := grpcfence.Tx[*fence.MemoryTx](ctx)
		if err != nil {
			return "", err
		}
		tx.Put("value", body)
		return "wrote " + body, nil
	}}
}
