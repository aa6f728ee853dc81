package grpcfence_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
	"github.com/etcdfence/etcdfence/fence/grpcfence"
	"github.com/etcdfence/etcdfence/integration/kit"
)

// The conformance kit on a resource behind a service: what a client of it may rely on.
func TestKit(t *testing.T) {
	t.Parallel()
	fencetest.Run(t, newFarSubject)
}

func TestLinearizable(t *testing.T) {
	t.Parallel()
	kit.Linearizable(t, newFarSubject)
}

func TestSequences(t *testing.T) {
	t.Parallel()
	kit.Sequences(t, newFarSubject)
}

// far is a resource in memory, the service in front of it, and a client with no interceptors.
type far struct {
	store   *fence.Memory
	server  *grpc.Server
	conns   *conns
	serving sync.WaitGroup
	losing  atomic.Bool
	clients []*grpc.ClientConn
	remote  *grpcfence.Remote
}

func newFarSubject(ctx context.Context) (fencetest.Subject[*grpcfence.Call], error) {
	s, err := newFar()
	if err != nil {
		return nil, err
	}
	return s, s.Reopen(ctx)
}

func newFar() (*far, error) {
	store, err := fence.NewMemory(lock)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &far{store: store, conns: &conns{Listener: listener}}
	s.server = grpc.NewServer(grpc.WaitForHandlers(true),
		grpc.ChainUnaryInterceptor(s.lose, grpcfence.UnaryServer(grpcfence.Enforce(store), nil)))
	grpcfence.RegisterMarks(s.server, store)
	testgrpc.RegisterTestServiceServer(s.server, &service{unary: func(ctx context.Context, body string) (string, error) {
		tx, err := grpcfence.Tx[*fence.MemoryTx](ctx)
		if err != nil {
			return "", err
		}
		tx.Put("value", body)
		return "wrote " + body, nil
	}})
	s.serving.Go(func() { _ = s.server.Serve(s.conns) }) // it says that it was stopped
	return s, nil
}

// lose breaks the connections after the next success, if it is armed to.
func (s *far) lose(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	out, err := handler(ctx, req)
	if err == nil && !strings.HasSuffix(info.FullMethod, "/Mark") && s.losing.CompareAndSwap(true, false) {
		s.conns.breakAll()
	}
	return out, err
}

// conns is a listener whose connections can be broken.
type conns struct {
	net.Listener
	mu   sync.Mutex
	open []net.Conn
}

func (c *conns) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.mu.Lock()
		c.open = append(c.open, conn)
		c.mu.Unlock()
	}
	return conn, err
}

func (c *conns) breakAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		_ = conn.Close() // some are closed already
	}
	c.open = nil
}

func (s *far) open() (*grpcfence.Remote, error) {
	conn, err := grpc.NewClient(s.conns.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	s.clients = append(s.clients, conn)
	return grpcfence.NewRemote(conn, &grpcfence.RemoteOptions{Lock: lock})
}

func (s *far) Resource() fence.FencedResource[*grpcfence.Call] { return s.remote }
func (s *far) Lock() string                                    { return lock }
func (s *far) Lose(context.Context) error                      { s.losing.Store(true); return nil }

func (s *far) Reopen(context.Context) (err error) {
	s.remote, err = s.open()
	return err
}

func (s *far) Share(context.Context) (fence.FencedResource[*grpcfence.Call], error) { return s.open() }

func (s *far) Write(_ context.Context, call *grpcfence.Call, value string) error {
	call.Send = func(ctx context.Context) error {
		client := testgrpc.NewTestServiceClient(s.clients[0])
		_, err := client.UnaryCall(ctx, &testgrpc.SimpleRequest{Payload: &testgrpc.Payload{Body: []byte(value)}})
		return err
	}
	return nil
}

func (s *far) Read(ctx context.Context) (string, error) {
	v, _, err := s.store.Get(ctx, "value")
	return v, err
}

func (s *far) Close() error {
	var all []error
	for _, c := range s.clients {
		all = append(all, c.Close())
	}
	s.server.Stop()
	s.serving.Wait()
	return errors.Join(all...)
}

// The errors of a call under a Remote, whatever interceptors the connection has.
func TestRemoteErrors(t *testing.T) {
	m, s := newStore(t)
	write := s.unary
	var fail error
	s.unary = func(ctx context.Context, body string) (string, error) {
		if fail != nil {
			return "", fail
		}
		return write(ctx, body)
	}
	address := listen(t, grpcfence.Enforce(m), nil, s)
	for name, opts := range map[string][]grpc.DialOption{
		"plain":        nil,
		"intercepting": {grpc.WithUnaryInterceptor(grpcfence.UnaryClient())},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := grpc.NewClient(address, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
			must(t, err)
			t.Cleanup(func() { must(t, conn.Close()) })
			client := testgrpc.NewTestServiceClient(conn)
			r, err := grpcfence.NewRemote(conn, &grpcfence.RemoteOptions{Timeout: time.Minute})
			must(t, err)
			apply := func(ctx context.Context, s fence.Stamp, body string) (out string, err error) {
				err = r.Apply(ctx, s, func(_ context.Context, c *grpcfence.Call) error {
					c.Send = func(ctx context.Context) (err error) { out, err = call(ctx, client, body); return err }
					return nil
				})
				return out, err
			}
			base := int64(100)
			if name == "plain" {
				base = 10
			}
			ctx := fence.WithOperation(t.Context(), "pay "+name)
			for _, sequence := range []int64{1, 2} { // the second is answered with what was recorded
				if out, err := apply(ctx, stamp(t, base, sequence), name); err != nil || out != "wrote "+name {
					t.Fatalf("%q, %v", out, err)
				}
			}
			var refused *fence.RefusedError
			if _, err := apply(t.Context(), stamp(t, 1, 1), "late"); !errors.Is(err, fence.ErrStale) || !errors.As(err, &refused) ||
				status.Code(err) != codes.FailedPrecondition || value(t, m) != name {
				t.Errorf("%v; the service has %q", err, value(t, m))
			}
			for _, c := range []struct {
				code    codes.Code
				unknown bool
			}{{codes.NotFound, false}, {codes.ResourceExhausted, false}, {codes.Unavailable, true}, {codes.Internal, true}} {
				fail = status.Error(c.code, "no")
				_, err := apply(t.Context(), stamp(t, base+1, 1), "x")
				if status.Code(err) != c.code || errors.Is(err, fence.ErrUnknownOutcome) != c.unknown {
					t.Errorf("%v: %v", c.code, err)
				}
			}
			fail = nil
			if _, err := apply(fence.WithOperation(t.Context(), ""), stamp(t, base+2, 1), "x"); !errors.Is(err, fence.ErrBadOperation) {
				t.Error(err)
			}
			if err := r.Apply(t.Context(), stamp(t, base+2, 1), func(context.Context, *grpcfence.Call) error { return nil }); err == nil {
				t.Error("no call is one")
			}
			// This service has no marks.
			if err := r.Claim(t.Context(), stamp(t, base+3, 0).Token()); status.Code(err) != codes.Unimplemented || fence.SafeToRetry(err) {
				t.Error(err)
			}
			if _, err := r.Mark(t.Context(), lock); status.Code(err) != codes.Unimplemented {
				t.Error(err)
			}
		})
	}
}

// Claims have a stamp of sequence 0 and marks a name; nothing else changes or tells anything.
func TestMarksBadCalls(t *testing.T) {
	s, err := newFar()
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	must(t, s.Reopen(t.Context()))
	if _, err := s.remote.Mark(t.Context(), "other"); !errors.Is(err, fence.ErrWrongLock) {
		t.Error(err)
	}
	if _, err := s.remote.Mark(t.Context(), "\n"); !errors.Is(err, fence.ErrBadToken) {
		t.Error(err)
	}
	conn := s.clients[0]
	for what, c := range map[string]struct {
		ctx  context.Context
		want error
	}{
		"no stamp":        {t.Context(), fence.ErrNoToken},
		"a write's stamp": {fence.WithStamp(t.Context(), stamp(t, 5, 1)), fence.ErrBadToken},
	} {
		err := grpcfence.UnaryClient()(c.ctx, "/"+grpcfence.ServiceName+"/Claim", &testgrpc.Empty{}, &testgrpc.Empty{}, conn,
			func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, opts ...grpc.CallOption) error {
				return cc.Invoke(ctx, method, req, reply, opts...)
			})
		if code := status.Code(err); code != codes.InvalidArgument || errors.Is(err, c.want) != (what != "no stamp") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if mark, err := s.store.Mark(t.Context(), lock); err != nil || !mark.IsZero() {
		t.Errorf("the mark is %v, %v", mark, err)
	}
	if _, err := grpcfence.NewRemote(nil, nil); err == nil {
		t.Error("no connection is one")
	}
	for _, opts := range []grpcfence.RemoteOptions{{Timeout: -1}, {Lock: "\n"}} {
		if _, err := grpcfence.NewRemote(conn, &opts); err == nil {
			t.Errorf("%+v are options", opts)
		}
	}
}
