package httpfence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

// DefaultTimeout is what zero means for [RemoteOptions].Timeout.
const DefaultTimeout = 30 * time.Second

// RemoteOptions of [NewRemote]. nil and the zero value work.
type RemoteOptions struct {
	// Lock that guards the service. A token of another one is then refused with nothing sent.
	// Empty leaves that to the service.
	Lock string

	// Timeout is how long one request may take, its answer included. Afterwards its outcome
	// is unknown, and a Bound sends it again. Zero means [DefaultTimeout].
	Timeout time.Duration

	// MaxAnswer bounds the answer that a [Call] can read, in bytes. Zero means
	// [DefaultMaxAnswer].
	MaxAnswer int64
}

// Remote is the client's side of a fenced service: a resource like any other, whose change
// is one request. It is safe for concurrent use and needs no closing.
//
//	accounts, err := httpfence.NewRemote(client, "https://accounts.example/fence", nil)
//	w, err := etcdfence.Bind(ctx, hold, accounts) // claims
//	err = w.Apply(ctx, func(ctx context.Context, call *httpfence.Call) (err error) {
//		call.Request, err = http.NewRequestWithContext(ctx, "PUT", url, body)
//		return err
//	})
//
// With an operation id in ctx (see [fence.WithOperation]) a request that was done before is
// no error: its recorded answer is the answer.
type Remote struct {
	client    *http.Client
	marks     *url.URL
	lock      string
	timeout   time.Duration
	maxAnswer int64
}

var _ fence.FencedResource[*Call] = (*Remote)(nil)

// Call is the one request of a change, which only builds it: Apply sends it.
type Call struct {
	// Request is what is sent, with the stamp. Its method must be one that may change
	// something. Its context counts, and Apply's too.
	Request *http.Request

	// Answer, if not nil, is given the response of a request that was applied, after Apply is
	// certain; the body has arrived. It is not called if the answer was lost and the same
	// stamp, sent again, told that the request had been applied: to have the answer
	// nevertheless, ask with an operation id.
	Answer func(*http.Response)
}

// NewRemote returns the resource behind a service. The client is the user's own, with or
// without a [Transport]; marks is where the service has [Marks]. It sends nothing.
func NewRemote(client *http.Client, marks string, opts *RemoteOptions) (*Remote, error) {
	if client == nil {
		return nil, errors.New("httpfence: client is nil")
	}
	u, err := url.Parse(marks)
	if err == nil {
		err = checkURL(u)
	}
	if err != nil {
		return nil, fmt.Errorf("httpfence: the address of the marks: %w", err)
	}
	if opts == nil {
		opts = &RemoteOptions{}
	}
	if opts.Timeout < 0 || opts.MaxAnswer < 0 {
		return nil, fmt.Errorf("httpfence: options cannot be negative: %+v", *opts)
	}
	if opts.Lock != "" {
		if err := fence.CheckLock(opts.Lock); err != nil {
			return nil, fmt.Errorf("httpfence: %w", err)
		}
	}
	own := *client
	if _, stamps := own.Transport.(*Transport); !stamps {
		own.Transport = &Transport{Base: own.Transport}
	}
	own.CheckRedirect = sameMethod(own.CheckRedirect)
	return &Remote{client: &own, marks: u, lock: opts.Lock, timeout: cmp.Or(opts.Timeout, DefaultTimeout),
		maxAnswer: cmp.Or(opts.MaxAnswer, DefaultMaxAnswer)}, nil
}

func checkURL(u *url.URL) error {
	if u == nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%.200q is no http or https URL", fmt.Sprint(u))
	}
	return nil
}

// Apply implements [fence.FencedResource]: it runs change, which builds the request, and
// sends it once with the stamp. An answer of 200 to 299 is certain.
//
// Errors besides the contract's: change's own; a [*StatusError] for every other answer that
// is not the fence's.
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
		return fmt.Errorf("httpfence: nothing was sent: %w", err)
	}
	var call Call
	if err := change(ctx, &call); err != nil {
		return err
	}
	req := call.Request
	switch {
	case req == nil:
		return errors.New("httpfence: the change has set no request")
	case safe(req.Method):
		return fmt.Errorf("httpfence: a %s is no write", cmp.Or(req.Method, http.MethodGet))
	case checkURL(req.URL) != nil:
		return fmt.Errorf("httpfence: the request: %w", checkURL(req.URL))
	}
	req, err := with(req.WithContext(ctx), s) // the Transport then leaves it as it is
	if err != nil {
		return err
	}
	both, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	own := call.Request.Context()
	if err := own.Err(); err != nil { // AfterFunc would tell too late
		return fmt.Errorf("httpfence: nothing was sent: %w", err)
	}
	defer context.AfterFunc(own, func() { stop(context.Cause(own)) })()
	return r.send(both, s, req, call.Answer)
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

// Claim implements [fence.FencedResource], by a request to the service's [Marks].
func (r *Remote) Claim(ctx context.Context, t fence.Token) error {
	s := t.At(0)
	if err := r.check(s); err != nil {
		return err
	}
	ctx = fence.WithStamp(ctx, fence.Stamp{})
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, r.marks.String(), http.NoBody)
	if err != nil {
		return err
	}
	value, err := Value(s)
	if err != nil {
		return err
	}
	req.Header.Set(StampHeader, value)
	return r.send(ctx, s, req, nil)
}

// Mark implements [fence.FencedResource], by a request to the service's [Marks].
func (r *Remote) Mark(ctx context.Context, lock string) (mark fence.Stamp, err error) {
	if err := fence.CheckLock(lock); err != nil {
		return mark, fmt.Errorf("httpfence: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	u := *r.marks
	query := u.Query()
	query.Set("lock", lock)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return mark, err
	}
	resp, err := Do(r.client, req)
	if err != nil {
		return mark, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return mark, newStatusError(resp)
	}
	if len(resp.Header.Values(StampHeader)) == 0 {
		return mark, nil
	}
	return stamp(resp.Header)
}
