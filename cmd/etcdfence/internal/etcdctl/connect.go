package etcdctl

import (
	"context"
	"fmt"
	"io"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/grpclog"
)

// Quiet silences gRPC, which otherwise writes to the standard error what the client
// is about to report anyway. Call it before the first client is made.
func Quiet() { grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard)) }

// Client returns a client that logs nothing. It does not wait for a connection,
// except to authenticate.
func Client(spec *clientv3.ConfigSpec) (*clientv3.Client, error) {
	cfg, err := clientv3.NewClientConfig(spec, zap.NewNop())
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	cfg.Logger = zap.NewNop()
	return clientv3.New(*cfg)
}

// Connect returns a client that is connected and may read under prefix. It fails
// within the two timeouts of spec, with an error that says why.
func Connect(ctx context.Context, spec *clientv3.ConfigSpec, prefix string) (*clientv3.Client, error) {
	client, err := Client(spec)
	if err != nil {
		return nil, unreachable(ctx, spec, err)
	}
	if err := probe(ctx, client, spec, prefix); err != nil {
		client.Close()
		return nil, unreachable(ctx, spec, err)
	}
	return client, nil
}

func probe(ctx context.Context, client *clientv3.Client, spec *clientv3.ConfigSpec, prefix string) error {
	if err := ready(ctx, client, spec.DialTimeout); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, spec.RequestTimeout)
	defer cancel()
	_, err := client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	return err
}

// ready waits for a connection. A request would wait too, but until its own deadline.
func ready(ctx context.Context, client *clientv3.Client, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn := client.ActiveConnection()
	for {
		state := conn.GetState()
		if state == connectivity.Ready {
			return nil
		}
		conn.Connect()
		if !conn.WaitForStateChange(ctx, state) {
			return ctx.Err()
		}
	}
}
