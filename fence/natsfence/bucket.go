package natsfence

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

var keyForm = regexp.MustCompile(`^[-/_=.a-zA-Z0-9]+$`)

// validKey is the client's own rule, asked before anything is sent.
func validKey(key string) bool {
	return keyForm.MatchString(key) && !strings.HasPrefix(key, ".") && !strings.HasSuffix(key, ".") && !strings.Contains(key, "..")
}

func openBucket(ctx context.Context, js jetstream.JetStream, bucket string) (jetstream.KeyValue, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("natsfence: nothing was sent: %w", err)
	}
	kv, err := js.KeyValue(ctx, bucket)
	if err != nil {
		return nil, fmt.Errorf("natsfence: bucket %q: %w", bucket, err)
	}
	stream, err := js.Stream(ctx, "KV_"+bucket)
	if err != nil {
		return nil, fmt.Errorf("natsfence: bucket %q: %w", bucket, err)
	}
	return kv, checkBucket(bucket, stream.CachedInfo().Config)
}

// checkBucket refuses a bucket whose stream may drop the newest value of a key without
// being told to.
func checkBucket(bucket string, c jetstream.StreamConfig) error {
	limited := c.MaxBytes > 0 || c.MaxMsgs > 0
	var why string
	switch {
	case c.MaxAge > 0:
		why = fmt.Sprintf("keys expire after %v", c.MaxAge)
	case limited && c.Discard == jetstream.DiscardOld:
		why = "when it is full the oldest keys are discarded; set its Discard to new"
	case c.Retention != jetstream.LimitsPolicy:
		why = fmt.Sprintf("its retention is %v", c.Retention)
	case c.Mirror != nil || len(c.Sources) > 0:
		why = "it copies another one, where the comparison would have to be made"
	default:
		return nil
	}
	return fmt.Errorf("%w: %q: %s", ErrBucket, bucket, why)
}
