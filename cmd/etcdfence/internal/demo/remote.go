package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/fence"
)

// remote is the memory store as a worker sees it: a [fence.FencedResource] that sends
// stamp and change together and leaves the decision to the other end.
type remote struct {
	mu   sync.Mutex
	line net.Conn
	out  *json.Encoder
	in   *json.Decoder
}

// change is what one write does to the store.
type change struct{ value string }

var _ fence.FencedResource[*change] = (*remote)(nil)

// lineFD is the descriptor of the connection that the director has left to us.
const lineFD = 3

func dialMemory() (*remote, error) {
	f := os.NewFile(lineFD, "store")
	if f == nil {
		return nil, errors.New("the connection to the store is missing")
	}
	defer f.Close()
	line, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return newRemote(line), nil
}

func newRemote(line net.Conn) *remote {
	return &remote{line: line, out: json.NewEncoder(line), in: json.NewDecoder(line)}
}

// Apply implements [fence.FencedResource].
func (r *remote) Apply(ctx context.Context, s fence.Stamp, f func(context.Context, *change) error) error {
	var c change
	if err := f(ctx, &c); err != nil {
		return err
	}
	return r.call(ctx, request{Op: "apply", Stamp: s, Value: c.value})
}

// Claim implements [fence.FencedResource].
func (r *remote) Claim(ctx context.Context, t fence.Token) error {
	return r.call(ctx, request{Op: "claim", Token: t})
}

// Mark implements [fence.FencedResource]; no worker asks for it.
func (r *remote) Mark(context.Context, string) (fence.Stamp, error) {
	return fence.Stamp{}, errors.ErrUnsupported
}

func (r *remote) fenced(ctx context.Context, hold *etcdfence.Hold) (writer, error) {
	bound, err := etcdfence.Bind(ctx, hold, r)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, value string) error {
		return bound.Apply(ctx, func(_ context.Context, c *change) error {
			c.value = value
			return nil
		})
	}, nil
}

func (r *remote) plain(ctx context.Context, value string) error {
	return r.call(ctx, request{Op: "plain", Value: value})
}

func (r *remote) call(ctx context.Context, q request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { r.line.Close() })() // a call that is given up spoils the connection
	err := r.out.Encode(q)
	var a *answer
	if err == nil {
		err = r.in.Decode(&a)
	}
	if err != nil {
		return fmt.Errorf("%w: the connection to the store: %w", fence.ErrUnknownOutcome, err)
	}
	return a.err()
}

// Close closes the connection.
func (r *remote) Close() error { return r.line.Close() }
