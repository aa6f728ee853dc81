package etcdctl

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// unreachable adds the reason that gRPC keeps to itself when it runs out of time.
func unreachable(ctx context.Context, spec *clientv3.ConfigSpec, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) && len(spec.Endpoints) > 0 {
		err = diagnose(spec)
	}
	return fmt.Errorf("cannot use etcd at %s: %w", strings.Join(spec.Endpoints, ","), err)
}

// diagnose says why the first endpoint does not answer. It waits for much less than
// the timeout that has passed already.
func diagnose(spec *clientv3.ConfigSpec) error {
	host, secure := spec.Endpoints[0], false
	if u, err := url.Parse(host); err == nil && u.Host != "" {
		host, secure = u.Host, u.Scheme == "https"
	}
	var config *tls.Config
	if cfg, err := clientv3.NewClientConfig(spec, zap.NewNop()); err == nil {
		config = cfg.TLS
	}
	dialer := &net.Dialer{Timeout: max(spec.DialTimeout/4, 100*time.Millisecond)}
	conn, err := dialer.Dial("tcp", host)
	if err == nil && (secure || config != nil) {
		conn.Close()
		conn, err = tls.DialWithDialer(dialer, "tcp", host, config)
	}
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("no connection within %v", spec.DialTimeout)
	}
	if err != nil {
		return err
	}
	conn.Close()
	return fmt.Errorf("it listens but does not answer as an etcd within %v; does it want TLS (--cacert, https://), or none?", spec.DialTimeout)
}
