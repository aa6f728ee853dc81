package httpfence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/etcdfence/etcdfence/fence"
)

// send sends the request with the stamp and hands over its answer.
func (r *Remote) send(ctx context.Context, s fence.Stamp, req *http.Request, answer func(*http.Response)) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("httpfence: nothing was sent: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var sendings atomic.Int64
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sendings.Add(1) }})
	resp, err := r.client.Do(req.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("%w: %w", fence.ErrUnknownOutcome, err)
	}
	defer resp.Body.Close()
	if err := Error(resp); err != nil {
		var refused *fence.RefusedError
		if sendings.Load() > 1 && errors.As(err, &refused) && errors.Is(err, fence.ErrReplayed) && refused.Mark == s {
			// net/http has sent it again by itself: the first of them may have been applied.
			return fmt.Errorf("%w: it was sent twice: %v", fence.ErrUnknownOutcome, err)
		}
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return newStatusError(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, r.maxAnswer+1))
	if err != nil {
		return fmt.Errorf("%w: the answer broke off: %w", fence.ErrUnknownOutcome, err)
	}
	if answer != nil {
		resp.Body = io.NopCloser(whole(body, r.maxAnswer))
		answer(resp)
	}
	return nil
}

// whole reads the body, and fails where it was cut off.
func whole(body []byte, limit int64) io.Reader {
	if int64(len(body)) <= limit {
		return bytes.NewReader(body)
	}
	return io.MultiReader(bytes.NewReader(body[:limit]), cutOff{})
}

type cutOff struct{}

// Read implements [io.Reader].
func (cutOff) Read([]byte) (int, error) {
	return 0, errors.New("httpfence: the answer is longer than RemoteOptions.MaxAnswer")
}

// sameMethod does not follow a redirect that turns a write into a read: what the read says
// is not what became of the write.
func sameMethod(next func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		switch {
		case req.Method != via[0].Method:
			return http.ErrUseLastResponse
		case next != nil:
			return next(req, via)
		case len(via) >= 10:
			return errors.New("httpfence: stopped after 10 redirects")
		}
		return nil
	}
}
