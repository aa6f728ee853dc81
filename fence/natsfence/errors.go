package natsfence

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/etcdfence/etcdfence/fence"
)

// Besides the answers of package fence.
var (
	// ErrDeleted is returned when the key was deleted or purged, and the mark with it.
	// Nothing was changed, and nothing will be: to take it for a first write would let
	// every old stamp in. Find out who deletes. Then make sure that no holder from before
	// is still running, and call [Resource.Rebase] from the zero Stamp.
	ErrDeleted = errors.New("natsfence: the key was deleted, and its mark with it")

	// ErrForeign is returned when the key holds what the fence did not write, or cannot
	// read. Nothing was changed. If it is data from before the fence, [Resource.Rebase] from
	// the zero Stamp gives it a mark and keeps it as the body. Otherwise somebody writes
	// around the fence: find them first.
	ErrForeign = errors.New("natsfence: the key was not written by the fence")

	// ErrWentBack is returned when the key is at an older revision than this Resource has
	// seen: the stream was restored from a backup or made anew, and the mark went back with
	// it; or a leader answers that was deposed. Nothing was changed. Find out which,
	// raise the epoch of the tokens if marks have gone back, and open the resource anew.
	ErrWentBack = errors.New("natsfence: the key has gone back in time")

	// ErrBucket is returned when the bucket may lose a mark by itself: its keys expire, or
	// are discarded when it is full, or it copies another one. Make one that does not, or
	// change its stream.
	ErrBucket = errors.New("natsfence: the bucket does not keep marks")

	// ErrTooLarge is returned when the server does not take a value of that size. Nothing
	// was changed. Make the body smaller, keep fewer operations, or raise max_payload or the
	// bucket's MaxValueSize.
	ErrTooLarge = errors.New("natsfence: the value is too large")
)

// Codes of JetStream. The first two are one conflict: replicated streams answer with the
// second.
const (
	wrongLastSequence           = jetstream.JSErrCodeStreamWrongLastSequence         // 10071
	wrongLastSequenceReplicated = jetstream.JSErrCodeStreamWrongLastSequenceConstant // 10164
	storeFailed                 = jetstream.ErrorCode(10077)                         // full, among other things
)

func lostCompare(err error) bool { return hasCode(err, wrongLastSequence, wrongLastSequenceReplicated) }

func hasCode(err error, codes ...jetstream.ErrorCode) bool {
	var answer *jetstream.APIError
	if !errors.As(err, &answer) {
		return false
	}
	for _, code := range codes {
		if answer.ErrorCode == code {
			return true
		}
	}
	return false
}

// sent names the error of an update that was sent. Whoever cannot prove a refusal does
// not know: a message may wait in the client's buffer for a connection, or on its way.
func sent(ctx context.Context, err error) error {
	var answer *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrMaxPayload), hasCode(err, jetstream.JSErrCodeStreamMessageExceedsMaximum):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		// The server says that nobody has received it: the stream is gone, or elects.
		return fmt.Errorf("natsfence: write: %w: %w", fence.ErrContended, err)
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrInvalidConnection),
		errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionDraining),
		errors.Is(err, nats.ErrHeadersNotSupported):
		return fmt.Errorf("natsfence: write: nothing was sent: %w", err)
	case errors.As(err, &answer) && answer.Code >= 400 && answer.Code < 500:
		return fmt.Errorf("natsfence: write refused, nothing was applied: %w", err)
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return fmt.Errorf("natsfence: write: %w: %w: %w", fence.ErrUnknownOutcome, ctx.Err(), err)
	}
	return fmt.Errorf("natsfence: write: %w: %w", fence.ErrUnknownOutcome, err)
}
