package grpcfence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/etcdfence/etcdfence/fence"
)

// DefaultTimeout is what zero means for [RemoteOptions].Timeout.
const DefaultTimeout = 30 * time.Second

// RemoteOptions of [NewRemote]. nil and the zero value work.
type RemoteOptions struct {
	// Lock that guards the service. A token of another one is then refused with nothing sent.
	// Empty leaves that to the service.
	Lock string

	// Timeout is how long one call may take. Afterwards its outcome is unknown, and a Bound
	// sends it again. Zero means [DefaultTimeout].
	Timeout time.Duration
}

// Remote is the client's side of a fenced service: a resource like any other, whose change
// is one call. It is safe for concurrent use and needs no closing.
//
//	accounts, err := grpcfence.NewRemote(conn, nil)
//	w, err := etcdfence.Bind(ctx, hold, accounts) // claims
//	err = w.Apply(ctx, func(_ context.Context, call *grpcfence.Call) error {
//		call.Send = func(ctx context.Context) (err error) {
//			receipt, err = client.Transfer(ctx, order)
//			return err
//		}
//		return nil
//	})
//
// With an operation id in ctx (see [fence.WithOperation]) a call that was done before is no
// error: its recorded answer is the answer.
type Remote struct {
	conn    grpc.ClientConnInterface
	lock    string
	timeout time.Duration
}

var _ fence.FencedResource[*Call] = (*Remote)(nil)

// Call is the one call of a change, which only says what it will be: Apply makes it.
type Call struct {
	// Send makes the call, once, with the context that it is given, which has the stamp. It
	// returns the call's error. Nothing is known of the answer if the answer was lost and the
	// same stamp, sent again, told that the call had been applied.
	Send func(ctx context.Context) error
}

// NewRemote returns the resource behind a service that has [RegisterMarks] on the same
// connection, which stays the user's to close, with or without our interceptors. It sends
// nothing.
func NewRemote(conn grpc.ClientConnInterface, opts *RemoteOptions) (*Remote, error) {
	if conn == nil {
		return nil, errors.New("grpcfence: conn is nil")
	}
	if opts == nil {
		opts = &RemoteOptions{}
	}
	if opts.Lock != "" {
		if err := fence.CheckLock(opts.Lock); err != nil {
			return nil, fmt.Errorf("grpcfence: %w", err)
		}
	}
	if opts.Timeout < 0 {
		return nil, fmt.Errorf("grpcfence: options cannot be negative: %+v", *opts)
	}
	return &Remote{conn: conn, lock: opts.Lock, timeout: cmp.Or(opts.Timeout, DefaultTimeout)}, nil
}

// Apply implements [fence.FencedResource]: it runs change, and then makes the call that
// change has said, once, with the stamp. Errors besides the contract's: change's own, and the
// status of the call.
func (r *Remote) Apply(ctx context.Context, s fence.Stamp, change func(ctx context.Context, call *Call) error) error {
	if err := r.check(s); err != nil {
		return err
	}
	ctx = fence.WithStamp(ctx, s)
	if op := fence.OperationFrom(ctx); op != nil {
		if err := op.Check(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("grpcfence: nothing was sent: %w", err)
	}
	var call Call
	if err := change(ctx, &call); err != nil {
		return err
	}
	if call.Send == nil {
		return errors.New("grpcfence: the change has set no call")
	}
	ctx, _, err := outgoing(ctx)
	if err != nil {
		return err
	}
	return r.send(ctx, call.Send)
}

// check refuses what the service would refuse, whatever its mark is.
func (r *Remote) check(s fence.Stamp) error {
	switch {
	case s.IsZero():
		return &fence.RefusedError{Lock: r.lock, Presented: s, Reason: fence.ErrNoToken}
	case r.lock != "" && s.Token().Lock() != r.lock:
		return &fence.RefusedError{Lock: r.lock, Presented: s, Reason: fence.ErrWrongLock}
	}
	return nil
}

// send makes a call whose metadata have the stamp. The connection may have our interceptors:
// they do the same once more.
func (r *Remote) send(ctx context.Context, call func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("grpcfence: nothing was sent: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return fromStatus(call(ctx))
}

// Claim implements [fence.FencedResource].
func (r *Remote) Claim(ctx context.Context, t fence.Token) error {
	s := t.At(0)
	if err := r.check(s); err != nil {
		return err
	}
	ctx, err := withStamp(ctx, s)
	if err != nil {
		return err
	}
	return r.send(fence.WithStamp(ctx, fence.Stamp{}), func(ctx context.Context) error {
		return r.conn.Invoke(ctx, claimMethod, &emptypb.Empty{}, &emptypb.Empty{})
	})
}

// Mark implements [fence.FencedResource].
func (r *Remote) Mark(ctx context.Context, lock string) (mark fence.Stamp, err error) {
	if err := fence.CheckLock(lock); err != nil {
		return mark, fmt.Errorf("grpcfence: %w", err)
	}
	ctx, cancel := context.WithTimeout(fence.WithStamp(ctx, fence.Stamp{}), r.timeout)
	defer cancel()
	var text wrapperspb.StringValue
	if err := r.conn.Invoke(ctx, markMethod, wrapperspb.String(lock), &text); err != nil {
		return mark, answered(err)
	}
	if text.GetValue() == "" {
		return mark, nil
	}
	return mark, mark.UnmarshalText([]byte(text.GetValue()))
}
