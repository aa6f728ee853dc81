package grpcfence

import (
	"context"
	"encoding/base64"
	"errors"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdfence/etcdfence/fence"
)

// Domain is that of our ErrorInfo.
const Domain = "etcdfence"

// kinds are the answers that have a name on the wire. The order matters: a refusal may be
// wrapped in something that may be tried again, and not the other way round.
var kinds = []struct {
	reason string
	err    error
	code   codes.Code
}{
	{"STALE", fence.ErrStale, codes.FailedPrecondition},
	{"REPLAYED", fence.ErrReplayed, codes.FailedPrecondition},
	{"CONFLICT", fence.ErrConflict, codes.FailedPrecondition},
	{"WRONG_LOCK", fence.ErrWrongLock, codes.FailedPrecondition},
	{"MOVED", fence.ErrMoved, codes.FailedPrecondition},
	{"NO_TOKEN", fence.ErrNoToken, codes.InvalidArgument},
	{"BAD_TOKEN", fence.ErrBadToken, codes.InvalidArgument},
	{"BAD_OPERATION", fence.ErrBadOperation, codes.InvalidArgument},
	{"DUPLICATE", fence.ErrDuplicate, codes.AlreadyExists},
	{"UNKNOWN_OUTCOME", fence.ErrUnknownOutcome, codes.Unknown},
	{"CONTENDED", fence.ErrContended, codes.Aborted},
}

// The metadata of our ErrorInfo.
const (
	keyLock      = "lock"
	keyPresented = "presented"
	keyMark      = "mark"
	keyOperation = "operation"
	keyStamp     = "stamp"
	keyResult    = "result" // base64; left out if there is none
)

// toStatus is what a server answers. Errors that are not the fence's stay as they are. Of
// those that are, a client is told the answer and the stamps, and nothing of the store.
func toStatus(err error) error {
	for _, k := range kinds {
		if !errors.Is(err, k.err) {
			continue
		}
		info := &errdetails.ErrorInfo{Reason: k.reason, Domain: Domain, Metadata: map[string]string{}}
		text := k.err.Error()
		if refused := (*fence.RefusedError)(nil); errors.As(err, &refused) {
			text = refused.Error()
			info.Metadata[keyLock] = refused.Lock
			put(info, keyPresented, refused.Presented)
			put(info, keyMark, refused.Mark)
		}
		if done := (*fence.DuplicateError)(nil); errors.As(err, &done) {
			text = done.Error()
			info.Metadata[keyOperation] = done.Operation
			put(info, keyStamp, done.Stamp)
			if done.Result != nil {
				info.Metadata[keyResult] = base64.StdEncoding.EncodeToString(done.Result)
			}
		}
		st, derr := status.New(k.code, text).WithDetails(info)
		if derr != nil { // only of a status without an error
			return status.Error(k.code, text)
		}
		return st.Err()
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	return err
}

func put(info *errdetails.ErrorInfo, key string, s fence.Stamp) {
	if text, err := s.MarshalText(); err == nil { // the zero Stamp has none, and is left out
		info.Metadata[key] = string(text)
	}
}

// answer is a status that is also an error of package fence.
type answer struct {
	status *status.Status
	err    error
}

// Error is the status's text.
func (a *answer) Error() string { return a.status.Err().Error() }

// Unwrap returns the fence's error.
func (a *answer) Unwrap() error { return a.err }

// GRPCStatus is what [status.FromError] asks for.
func (a *answer) GRPCStatus() *status.Status { return a.status }

// answered gives a client the fence's error back, if the status is one.
func answered(err error) error {
	st, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == Domain {
			if restored := restore(info); restored != nil {
				return &answer{st, restored}
			}
		}
	}
	return err
}

// fromStatus is answered for a call that carried a stamp: if the fence did not answer it, it
// may have happened or not.
func fromStatus(err error) error {
	if err = answered(err); err == nil || errors.As(err, new(*answer)) {
		return err
	}
	st, ok := status.FromError(err)
	if !ok {
		return err
	}
	switch st.Code() {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Unknown, codes.Internal, codes.DataLoss:
		return &answer{st, errors.Join(fence.ErrUnknownOutcome, err)}
	}
	return err
}

// restore makes the error anew, or returns nil if it cannot be read.
func restore(info *errdetails.ErrorInfo) error {
	for _, k := range kinds {
		if k.reason != info.GetReason() {
			continue
		}
		md := info.GetMetadata()
		if lock, refused := md[keyLock]; refused {
			presented, ok1 := get(md, keyPresented)
			mark, ok2 := get(md, keyMark)
			if !ok1 || !ok2 {
				return k.err
			}
			return &fence.RefusedError{Lock: lock, Presented: presented, Mark: mark, Reason: k.err}
		}
		if op, done := md[keyOperation]; done && errors.Is(k.err, fence.ErrDuplicate) {
			s, ok := get(md, keyStamp)
			result, err := base64.StdEncoding.DecodeString(md[keyResult])
			if !ok || err != nil {
				return k.err
			}
			if _, some := md[keyResult]; !some {
				result = nil
			}
			return &fence.DuplicateError{Operation: op, Stamp: s, Result: result}
		}
		return k.err
	}
	return nil
}

// get reads a stamp; one that is left out is the zero Stamp.
func get(md map[string]string, key string) (s fence.Stamp, ok bool) {
	text, there := md[key]
	if !there {
		return s, true
	}
	return s, s.UnmarshalText([]byte(text)) == nil
}
