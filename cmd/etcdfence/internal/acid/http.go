package acid

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/httpfence"
)

// HTTP is a boundary that is a request.
type HTTP struct {
	client  *http.Client
	method  string
	url     *template.Template
	headers []*template.Template // "Name: value"
	body    *template.Template
	sources []string // of the templates: URL, body, headers
	read    string   // an address; empty: it cannot be read
}

// HTTPOptions of [NewHTTP]. The texts are templates of package text/template over [Fields].
type HTTPOptions struct {
	Method  string
	Headers []string
	Body    string
	Read    string
}

// Fields are what a template may name.
type Fields struct {
	Header, Stamp, Token, Lock, Owner string
	Epoch, Revision, Sequence         int64
	Value                             string
}

// NewHTTP makes a boundary of the address.
func NewHTTP(address string, o HTTPOptions) (*HTTP, error) {
	b := &HTTP{method: o.Method, read: o.Read, sources: append([]string{address, o.Body}, o.Headers...),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * parties},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	for i, source := range b.sources {
		t, err := template.New("").Option("missingkey=error").Parse(source)
		if err == nil {
			err = t.Execute(io.Discard, Fields{})
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", source, err)
		}
		switch i {
		case 0:
			b.url = t
		case 1:
			b.body = t
		default:
			if name, _, ok := strings.Cut(source, ":"); !ok || strings.TrimSpace(name) == "" {
				return nil, fmt.Errorf("the header %q has no colon", source)
			}
			b.headers = append(b.headers, t)
		}
	}
	if o.Read != "" {
		if _, err := url.ParseRequestURI(o.Read); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// stamped finds what is left out of a write without a token.
var stamped = regexp.MustCompile(`\.(Header|Stamp|Token|Epoch|Revision|Sequence|Owner)\b`)

func (b *HTTP) request(ctx context.Context, f Fields, anonymous bool) (*http.Request, error) {
	address, body := &bytes.Buffer{}, &bytes.Buffer{}
	if err := errors.Join(b.url.Execute(address, f), b.body.Execute(body, f)); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, b.method, address.String(), body)
	if err != nil {
		return nil, err
	}
	for i, h := range b.headers {
		if anonymous && stamped.MatchString(b.sources[2+i]) {
			continue
		}
		var line bytes.Buffer
		if err := h.Execute(&line, f); err != nil {
			return nil, err
		}
		name, value, _ := strings.Cut(line.String(), ":")
		req.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return req, nil
}

func fields(w Write) Fields {
	t := w.Stamp.Token()
	f := Fields{Lock: t.Lock(), Owner: t.Owner(), Epoch: t.Epoch(), Revision: t.Revision(), Sequence: w.Stamp.Sequence(), Value: w.Value}
	if text, err := w.Stamp.MarshalText(); err == nil {
		f.Stamp = string(text)
	}
	if value, err := httpfence.Value(w.Stamp); err == nil {
		f.Header = value
	}
	if text, err := t.MarshalText(); err == nil {
		f.Token = string(text)
	}
	return f
}

// Write tells an answer by its status.
func (b *HTTP) Write(ctx context.Context, w Write) error {
	req, err := b.request(ctx, fields(w), false)
	if err != nil {
		return err
	}
	return b.do(req)
}

func (b *HTTP) do(req *http.Request) error {
	resp, err := b.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection is used again
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case slices.Contains([]int{400, 409, 410, 412, 422, 428}, code):
		return fmt.Errorf("%w: %s", ErrRefused, resp.Status)
	case slices.Contains([]int{425, 429, 503}, code):
		return fmt.Errorf("%w: %s", fence.ErrContended, resp.Status)
	}
	return fmt.Errorf("the answer is %s", resp.Status)
}

// Read gets the address for it.
func (b *HTTP) Read(ctx context.Context) (string, error) {
	if b.read == "" {
		return "", ErrNoRead
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.read, nil)
	if err != nil {
		return "", err
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode >= 300 && resp.StatusCode != http.StatusNotFound {
		err = fmt.Errorf("reading: the answer is %s", resp.Status)
	}
	return string(text), err
}

// Anonymous leaves out the headers that have the stamp in them.
func (b *HTTP) Anonymous(ctx context.Context, value string) error {
	if stamped.MatchString(b.sources[0]) || stamped.MatchString(b.sources[1]) {
		return ErrNoAnonymous
	}
	req, err := b.request(ctx, Fields{Value: value}, true)
	if err != nil {
		return err
	}
	return b.do(req)
}

// Abandon goes away as soon as the request is sent.
func (b *HTTP) Abandon(ctx context.Context, w Write) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := b.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { cancel() }}), fields(w), false)
	if err != nil {
		return err
	}
	_ = b.do(req) // whatever came of it, nobody hears
	return nil
}

// Owners reports whether a template has the owner in it.
func (b *HTTP) Owners() bool {
	return slices.ContainsFunc(b.sources, func(s string) bool {
		return strings.Contains(s, ".Owner") || strings.Contains(s, ".Header") || strings.Contains(s, ".Stamp") || strings.Contains(s, ".Token")
	})
}

// Close closes idle connections.
func (b *HTTP) Close(context.Context) error {
	b.client.CloseIdleConnections()
	return nil
}
