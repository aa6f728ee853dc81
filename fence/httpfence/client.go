package httpfence

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/etcdfence/etcdfence/fence"
)

// Transport stamps requests: one whose context carries a stamp (see [fence.WithStamp]), and
// whose method may change something, gets it, and the context's operation id, as headers.
// All other requests pass as they are. The zero Transport works.
type Transport struct {
	// Base makes the requests. nil means [http.DefaultTransport].
	Base http.RoundTripper
}

// RoundTrip implements [http.RoundTripper]. The caller's request is not changed; the stamp
// replaces one that it has already. It returns [fence.ErrBadOperation] for a malformed
// operation id, with nothing sent.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	s, err := fence.StampFrom(req.Context())
	switch {
	case redirected(req):
		req = without(req)
	case err != nil || safe(req.Method):
	default:
		if req, err = with(req, s); err != nil {
			return nil, err
		}
	}
	return base.RoundTrip(req)
}

// with returns the request with a stamp.
func with(req *http.Request, s fence.Stamp) (*http.Request, error) {
	value, err := Value(s)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Header.Set(StampHeader, value)
	if op := fence.OperationFrom(req.Context()); op != nil {
		if err := op.Check(); err != nil {
			return nil, fmt.Errorf("httpfence: nothing was sent: %w", err)
		}
		req.Header.Set(OperationHeader, encode(op.ID()))
	}
	return req, nil
}

// redirected reports whether a request is not the one any more that its stamp was meant for:
// it goes to another host, or asks for something else, after a redirect.
func redirected(req *http.Request) bool {
	if req.Response == nil || req.Response.Request == nil {
		return false
	}
	from := req.Response.Request
	return from.URL.Host != req.URL.Host || from.Method != req.Method || from.URL.Scheme == "https" && req.URL.Scheme != "https"
}

// without takes away what net/http has copied from the request before the redirect.
func without(req *http.Request) *http.Request {
	if req.Header.Get(StampHeader) == "" && req.Header.Get(OperationHeader) == "" {
		return req
	}
	req = req.Clone(req.Context())
	req.Header.Del(StampHeader)
	req.Header.Del(OperationHeader)
	return req
}

func safe(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// Do sends the request with the client, whose transport should be a [Transport], and returns
// the fence's answers as errors, as the resource would: errors.Is and errors.As find them.
// The response's body is then closed. Every other response comes back as it is.
//
// A stamped request that got no answer matches [fence.ErrUnknownOutcome] besides its own
// error: send the same stamp again.
func Do(client *http.Client, req *http.Request) (*http.Response, error) {
	resp, err := client.Do(req)
	if err != nil {
		_, unstamped := fence.StampFrom(req.Context())
		if unstamped == nil && !safe(req.Method) && !errors.Is(err, fence.ErrBadOperation) {
			err = fmt.Errorf("%w: %w", fence.ErrUnknownOutcome, err)
		}
		return nil, err
	}
	if err := Error(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}
