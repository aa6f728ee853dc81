package etcdtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
)

// A Counter counts what clients send to etcd, below the retries of clientv3: a
// request that clientv3 sends again counts again. The zero value is ready:
//
//	var rpcs etcdtest.Counter
//	client := server.NewClient(t, rpcs.Option())
//
// It may count for several clients. Methods have the short names of etcd's API,
// such as "Range" (a get), "Put", "DeleteRange", "Txn", "LeaseGrant",
// "LeaseRevoke", "LeaseKeepAlive" and "Watch". Of the last two, which are
// streams, it counts the messages sent: renewals, and watches made or cancelled.
type Counter struct {
	mu sync.Mutex
	n  map[string]int
}

// Option puts the counter into a client.
func (c *Counter) Option() ClientOption {
	return WithDialOption(grpc.WithChainUnaryInterceptor(c.unary), grpc.WithChainStreamInterceptor(c.stream))
}

// Count returns how often these methods were called; without a method, all.
func (c *Counter) Count(methods ...string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := 0
	for m, n := range c.n {
		if len(methods) == 0 || slices.Contains(methods, m) {
			total += n
		}
	}
	return total
}

// Reset starts from zero.
func (c *Counter) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n = nil
}

// String returns the counts by method, such as "Put 1, Txn 2".
func (c *Counter) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var parts []string
	for _, m := range slices.Sorted(maps.Keys(c.n)) {
		parts = append(parts, fmt.Sprint(m, " ", c.n[m]))
	}
	return strings.Join(parts, ", ")
}

func (c *Counter) add(fullMethod string) {
	short := fullMethod[strings.LastIndexByte(fullMethod, '/')+1:]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[short]++
}

func (c *Counter) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	c.add(method)
	return invoke(ctx, method, req, reply, cc, opts...)
}

func (c *Counter) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	return &countedStream{ClientStream: s, count: func() { c.add(method) }}, nil
}

type countedStream struct {
	grpc.ClientStream
	count func()
}

func (s *countedStream) SendMsg(m any) error {
	s.count()
	return s.ClientStream.SendMsg(m)
}
