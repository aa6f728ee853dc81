package grpcfence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/etcdfence/etcdfence/fence"
)

func at(t *testing.T, revision, sequence int64) fence.Stamp {
	t.Helper()
	token, err := fence.NewToken("orders/é", 1<<62, revision, "holder 1")
	if err != nil {
		t.Fatal(err)
	}
	return token.At(sequence)
}

// Every answer of the fence arrives as what it was, with its stamps, and with a code for
// those who know nothing of fences.
func TestErrorsSurviveTheWire(t *testing.T) {
	refused := func(reason error, mark fence.Stamp) error {
		return &fence.RefusedError{Lock: "orders/é", Presented: at(t, 1<<53+1, 7), Mark: mark, Reason: reason}
	}
	for _, c := range []struct {
		err  error
		is   error
		code codes.Code
	}{
		{refused(fence.ErrStale, at(t, 1<<62, 1)), fence.ErrStale, codes.FailedPrecondition},
		{fmt.Errorf("wrapped: %w", refused(fence.ErrStale, at(t, 9, 1))), fence.ErrStale, codes.FailedPrecondition},
		{refused(fence.ErrReplayed, at(t, 9, 1)), fence.ErrReplayed, codes.FailedPrecondition},
		{refused(fence.ErrConflict, at(t, 9, 1)), fence.ErrConflict, codes.FailedPrecondition},
		{refused(fence.ErrWrongLock, fence.Stamp{}), fence.ErrWrongLock, codes.FailedPrecondition},
		{refused(fence.ErrMoved, fence.Stamp{}), fence.ErrMoved, codes.FailedPrecondition},
		{&fence.RefusedError{Lock: "a", Reason: fence.ErrNoToken}, fence.ErrNoToken, codes.InvalidArgument},
		{fence.ErrNoToken, fence.ErrNoToken, codes.InvalidArgument},
		{fmt.Errorf("%w: two", fence.ErrBadToken), fence.ErrBadToken, codes.InvalidArgument},
		{fence.ErrBadOperation, fence.ErrBadOperation, codes.InvalidArgument},
		{&fence.DuplicateError{Operation: "pay \n é", Stamp: at(t, 9, 1), Result: []byte{0, 0xff}}, fence.ErrDuplicate, codes.AlreadyExists},
		{&fence.DuplicateError{Operation: "pay", Stamp: at(t, 9, 1), Result: []byte{}}, fence.ErrDuplicate, codes.AlreadyExists},
		{&fence.DuplicateError{Operation: "pay", Stamp: at(t, 9, 1)}, fence.ErrDuplicate, codes.AlreadyExists},
		{fmt.Errorf("%w: 40001", fence.ErrContended), fence.ErrContended, codes.Aborted},
		{fmt.Errorf("%w: the password is x", fence.ErrUnknownOutcome), fence.ErrUnknownOutcome, codes.Unknown},
	} {
		sent := toStatus(c.err)
		if text := sent.Error(); errors.Is(c.err, fence.ErrUnknownOutcome) && len(text) > 100 {
			t.Errorf("the store's words are told: %q", text)
		}
		got := fromStatus(sent)
		if !errors.Is(got, c.is) || status.Code(got) != c.code || fence.SafeToRetry(got) != fence.SafeToRetry(c.err) {
			t.Errorf("%v arrives as %v (%v)", c.err, got, status.Code(got))
		}
		want, had := (*fence.RefusedError)(nil), (*fence.RefusedError)(nil)
		if errors.As(c.err, &want) && (!errors.As(got, &had) || *had != *want) {
			t.Errorf("%v arrives as %+v", c.err, had)
		}
		done, was := (*fence.DuplicateError)(nil), (*fence.DuplicateError)(nil)
		if errors.As(c.err, &done) && (!errors.As(got, &was) || was.Operation != done.Operation || was.Stamp != done.Stamp ||
			string(was.Result) != string(done.Result) || (was.Result == nil) != (done.Result == nil)) {
			t.Errorf("%v arrives as %+v", c.err, was)
		}
	}
}

// A call that was not answered by the fence may have happened; one that was refused before
// it reached a handler has not.
func TestUnansweredCalls(t *testing.T) {
	for code, unknown := range map[codes.Code]bool{
		codes.Unavailable: true, codes.DeadlineExceeded: true, codes.Canceled: true, codes.Internal: true, codes.Unknown: true,
		codes.PermissionDenied: false, codes.Unimplemented: false, codes.NotFound: false, codes.Unauthenticated: false,
	} {
		err := fromStatus(status.Error(code, "x"))
		if errors.Is(err, fence.ErrUnknownOutcome) != unknown || status.Code(err) != code {
			t.Errorf("%v: %v", code, err)
		}
	}
	if fromStatus(nil) != nil || fromStatus(io.EOF) != io.EOF {
		t.Error("what is no status is changed")
	}
	if err := toStatus(io.ErrUnexpectedEOF); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the handler's error becomes %v", err)
	}
	if err := toStatus(context.DeadlineExceeded); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("an ended context becomes %v", err)
	}
}

// Details that somebody else has made, or broken, are never taken for an answer of ours.
func TestForeignDetails(t *testing.T) {
	for _, c := range []struct {
		info *errdetails.ErrorInfo
		want error
	}{
		{&errdetails.ErrorInfo{Domain: "example.com", Reason: "STALE"}, nil},
		{&errdetails.ErrorInfo{Domain: Domain, Reason: "FRESH"}, nil},
		{&errdetails.ErrorInfo{Domain: Domain, Reason: "STALE"}, fence.ErrStale},
		{&errdetails.ErrorInfo{Domain: Domain, Reason: "STALE", Metadata: map[string]string{keyLock: "a", keyMark: "x"}}, fence.ErrStale},
		{&errdetails.ErrorInfo{Domain: Domain, Reason: "DUPLICATE", Metadata: map[string]string{keyOperation: "a", keyResult: "?"}}, fence.ErrDuplicate},
	} {
		st, err := status.New(codes.FailedPrecondition, "x").WithDetails(c.info)
		if err != nil {
			t.Fatal(err)
		}
		got := fromStatus(st.Err())
		var refused *fence.RefusedError
		if c.want == nil && (fence.SafeToRetry(got) || errors.Is(got, fence.ErrStale)) ||
			c.want != nil && !errors.Is(got, c.want) || errors.As(got, &refused) {
			t.Errorf("%v becomes %v", c.info, got)
		}
	}
}

func TestMetadata(t *testing.T) {
	s := at(t, 9, 1)
	ctx := metadata.AppendToOutgoingContext(t.Context(), StampKey, "somebody else's", "a", "b", OperationKey, "x")
	ctx = fence.WithStamp(ctx, s)
	out, stamped, err := outgoing(ctx)
	if err != nil || !stamped {
		t.Fatal(stamped, err)
	}
	md, _ := metadata.FromOutgoingContext(out)
	if before, _ := metadata.FromOutgoingContext(ctx); len(before.Get(OperationKey)) != 1 {
		t.Error("the caller's metadata were changed")
	}
	if got := md.Get(StampKey); len(got) != 1 || len(md.Get("a")) != 1 || len(md.Get(OperationKey)) != 0 {
		t.Fatalf("sent: %v", md)
	}
	got, _, err := incoming(metadata.NewIncomingContext(t.Context(), md))
	if err != nil || got != s {
		t.Fatalf("received: %v, %v", got, err)
	}
	if _, stamped, err := outgoing(t.Context()); stamped || err != nil {
		t.Error("a context without a stamp is stamped")
	}
	if _, _, err := outgoing(fence.WithOperation(ctx, "\n")); !errors.Is(err, fence.ErrBadOperation) {
		t.Error(err)
	}
	good := md.Get(StampKey)[0]
	for _, c := range []struct {
		md   metadata.MD
		want error
	}{
		{metadata.MD{}, fence.ErrNoToken},
		{metadata.Pairs(StampKey, ""), fence.ErrNoToken},
		{metadata.Pairs(StampKey, "5"), fence.ErrBadToken},
		{metadata.Pairs(StampKey, good, StampKey, good), fence.ErrBadToken},
		{metadata.Pairs(StampKey, good+" "), fence.ErrBadToken},
		{metadata.Pairs(StampKey, good, OperationKey, ""), fence.ErrBadOperation},
		{metadata.Pairs(StampKey, good, OperationKey, "a", OperationKey, "b"), fence.ErrBadOperation},
	} {
		if _, _, err := incoming(metadata.NewIncomingContext(t.Context(), c.md)); !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.md, err, c.want)
		}
	}
}
