package grpcfence_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/grpcfence"
	"github.com/etcdfence/etcdfence/integration/internal/relay"
)

// T20 (libraries that send again by themselves): the answer of an applied call is lost on
// the way. The client cannot know, and says so; the same stamp again tells.
func TestLostAnswer(t *testing.T) {
	m, s := newStore(t)
	address := listen(t, grpcfence.Enforce(m), nil, s)
	answered := make(chan struct{})
	r := relay.New(t, func() (net.Conn, error) { return net.Dial("tcp", address) }, func(*relay.Relay) (requests, answers relay.Copy) {
		return relay.Whole, func(to io.Writer, from io.Reader) error {
			b := make([]byte, 32<<10)
			for {
				n, err := from.Read(b)
				if err != nil {
					return err
				}
				select {
				case <-answered:
					return nil // and the connection breaks
				default:
				}
				if _, err := to.Write(b[:n]); err != nil {
					return err
				}
			}
		}
	})
	client := dial(t, r.Addr())
	write := s.unary
	s.unary = func(ctx context.Context, body string) (string, error) {
		out, err := write(ctx, body)
		if body == "lost" {
			close(answered)
		}
		return out, err
	}
	ctx, cancel := context.WithTimeout(fence.WithStamp(t.Context(), stamp(t, 5, 1)), time.Minute)
	defer cancel()
	_, err := call(ctx, client, "lost")
	if !errors.Is(err, fence.ErrUnknownOutcome) || !fence.SafeToRetry(err) {
		t.Fatalf("got %v", err)
	}
	_, err = call(ctx, dial(t, address), "again")
	var refused *fence.RefusedError
	if !errors.Is(err, fence.ErrReplayed) || !errors.As(err, &refused) || refused.Mark != stamp(t, 5, 1) || value(t, m) != "lost" {
		t.Fatalf("the same stamp again: %v; the store has %q", err, value(t, m))
	}
}

// gRPC's own retries send the stamp that they were given, whatever comes meanwhile.
func TestRetriesKeepTheStamp(t *testing.T) {
	m, err := fence.NewMemory(lock)
	must(t, err)
	var seen []fence.Stamp
	s := &service{unary: func(ctx context.Context, _ string) (string, error) {
		got, err := fence.StampFrom(ctx)
		seen = append(seen, got)
		if len(seen) < 3 {
			return "", errors.Join(err, status.Error(codes.Unavailable, "try again"))
		}
		return "done", err
	}}
	client := dial(t, listen(t, grpcfence.Enforce(m), nil, s), grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}],
		"retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.01s", "maxBackoff": "0.01s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`))
	if out, err := call(fence.WithStamp(t.Context(), stamp(t, 5, 1)), client, ""); err != nil || out != "done" {
		t.Fatalf("%q, %v", out, err)
	}
	if len(seen) != 3 || seen[0] != stamp(t, 5, 1) || seen[1] != seen[0] || seen[2] != seen[0] {
		t.Fatalf("seen: %v", seen)
	}
}

// A stream is one write, whose answers wait until it is certain.
func TestStream(t *testing.T) {
	m, s := newStore(t)
	sent := make(chan struct{})
	s.stream = func(ctx context.Context, stream testgrpc.TestService_FullDuplexCallServer) error {
		tx, err := grpcfence.Tx[*fence.MemoryTx](ctx)
		if err != nil {
			return err
		}
		all := ""
		answer := &testgrpc.StreamingOutputCallResponse{Payload: &testgrpc.Payload{}}
		for {
			in, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			all += string(in.GetPayload().GetBody())
			answer.Payload.Body = []byte("took " + all) // the same message each time
			if err := stream.Send(answer); err != nil {
				return err
			}
		}
		tx.Put("value", all)
		if all == "bad" {
			return status.Error(codes.OutOfRange, "bad")
		}
		close(sent)
		return nil
	}
	client := serve(t, grpcfence.Enforce(m), &grpcfence.ServerOptions{Held: 100}, s)
	run := func(revision, sequence int64, parts ...string) (answers []string, err error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		stream, err := client.FullDuplexCall(fence.WithStamp(ctx, stamp(t, revision, sequence)))
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			if err := stream.Send(&testgrpc.StreamingOutputCallRequest{Payload: &testgrpc.Payload{Body: []byte(p)}}); err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
		}
		must(t, stream.CloseSend())
		for {
			out, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return answers, nil
			}
			if err != nil {
				return answers, err
			}
			answers = append(answers, string(out.GetPayload().GetBody()))
		}
	}
	if got, err := run(5, 1, "bad"); status.Code(err) != codes.OutOfRange || len(got) != 0 || value(t, m) != "" {
		t.Fatalf("a handler that fails: %q, %v; the store has %q", got, err, value(t, m))
	}
	if got, err := run(5, 1, "one ", "two"); err != nil || len(got) != 2 || got[0] != "took one " || got[1] != "took one two" {
		t.Fatalf("%q, %v", got, err)
	}
	<-sent
	if got, err := run(5, 1, "again"); !errors.Is(err, fence.ErrReplayed) || len(got) != 0 {
		t.Fatalf("the same stamp: %q, %v", got, err)
	}
	if got, err := run(3, 1, "late"); !errors.Is(err, fence.ErrStale) || len(got) != 0 || value(t, m) != "one two" {
		t.Fatalf("an old stamp: %q, %v", got, err)
	}
	long := make([]string, 9)
	for i := range long {
		long[i] = "0123456789"
	}
	if got, err := run(6, 1, long...); status.Code(err) != codes.ResourceExhausted || len(got) != 0 || value(t, m) != "one two" {
		t.Fatalf("too many answers: %q, %v", got, err)
	}
}

// twice runs each change two times, as a store does that has to start anew.
type twice struct{ *fence.Memory }

func (r twice) Apply(ctx context.Context, s fence.Stamp, change func(context.Context, *fence.MemoryTx) error) error {
	_ = r.Memory.Apply(ctx, s, func(ctx context.Context, tx *fence.MemoryTx) error {
		return errors.Join(change(ctx, tx), errors.New("once more"))
	})
	return r.Memory.Apply(ctx, s, change)
}

// A unary handler may run again, a stream cannot: nothing of it is applied or told.
func TestChangesThatRunAgain(t *testing.T) {
	m, s := newStore(t)
	runs := 0
	write := s.unary
	s.unary = func(ctx context.Context, body string) (string, error) { runs++; return write(ctx, body) }
	s.stream = func(_ context.Context, stream testgrpc.TestService_FullDuplexCallServer) error {
		return stream.Send(&testgrpc.StreamingOutputCallResponse{})
	}
	client := serve(t, grpcfence.Enforce(twice{m}), nil, s)
	if out, err := call(fence.WithStamp(t.Context(), stamp(t, 5, 1)), client, "x"); err != nil || out != "wrote x" || runs != 2 {
		t.Fatalf("%q, %v, %d runs", out, err, runs)
	}
	stream, err := client.FullDuplexCall(fence.WithStamp(t.Context(), stamp(t, 5, 2)))
	must(t, err)
	if out, err := stream.Recv(); !errors.Is(err, fence.ErrContended) {
		t.Fatalf("%v, %v", out, err)
	}
}
