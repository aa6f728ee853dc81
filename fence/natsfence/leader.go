package natsfence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/internal/stamped"
)

// Reads go to the stream's leader. The client's own Get asks whichever replica is nearest,
// and one that lags answers with an older value: on a stream of three the conformance kit
// read a body that had been replaced already.

// apiPrefix is what the subjects of JetStream's API begin with on this connection.
func apiPrefix(o jetstream.JetStreamOptions) string {
	switch {
	case o.Domain != "":
		return "$JS." + o.Domain + ".API."
	case o.APIPrefix != "":
		return strings.TrimSuffix(o.APIPrefix, ".") + "."
	}
	return jetstream.DefaultAPIPrefix
}

type lastMessage struct {
	Error   *jetstream.APIError `json:"error"`
	Message *struct {
		Sequence uint64 `json:"seq"`
		Header   []byte `json:"hdrs"`
		Data     []byte `json:"data"`
	} `json:"message"`
}

// ask returns the newest entry that the leader has.
func (r *Resource) ask(ctx context.Context) (*entry, error) {
	asking, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	reply, err := r.conn.RequestWithContext(asking, r.getSubject, r.getRequest)
	if err != nil {
		return nil, r.unanswered(ctx, err)
	}
	var last lastMessage
	if err := json.Unmarshal(reply.Data, &last); err != nil {
		return nil, fmt.Errorf("natsfence: read %q: %w", r.key, err)
	}
	switch {
	case last.Error != nil && last.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return &entry{}, nil
	case last.Error != nil:
		return nil, fmt.Errorf("natsfence: read %q: %w", r.key, last.Error)
	case last.Message == nil:
		return nil, fmt.Errorf("natsfence: read %q: %w", r.key, jetstream.ErrInvalidJetStreamResponse)
	}
	e := &entry{revision: last.Message.Sequence}
	if len(last.Message.Header) > 0 {
		h, err := nats.DecodeHeadersMsg(last.Message.Header)
		if err != nil {
			return nil, fmt.Errorf("natsfence: read %q: %w", r.key, err)
		}
		if h.Get("KV-Operation") != "" || h.Get(jetstream.MarkerReasonHeader) != "" {
			e.Err = ErrDeleted
			return e, nil
		}
	}
	e.Exists, e.Raw = true, last.Message.Data
	if e.Value, err = stamped.Decode(e.Raw); err != nil {
		e.Err = fmt.Errorf("%w: %w", ErrForeign, err)
	}
	return e, nil
}

// unanswered names the error of a read that got no answer. Nothing was applied by it, and
// a stream that elects a leader will answer soon.
func (r *Resource) unanswered(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	case ctx.Err() != nil:
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrTimeout):
		err = fmt.Errorf("%w: no answer within %v: %w", fence.ErrContended, r.timeout, err)
	}
	return fmt.Errorf("natsfence: read %q: %w", r.key, err)
}
