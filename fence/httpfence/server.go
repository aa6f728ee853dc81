package httpfence

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/etcdfence/etcdfence/fence"
)

// What zero values in [Options] mean.
const (
	DefaultMaxBody   = 1 << 20
	DefaultMaxAnswer = 16 << 20
)

// Options of [Handler]. nil and the zero value work.
type Options struct {
	// Guarded says which requests need a stamp; the others go to the handler as they are.
	// nil means all whose method may change something: all but GET, HEAD, OPTIONS and TRACE.
	Guarded func(*http.Request) bool

	// MaxBody bounds the body of a request under [Enforce], in bytes: it is kept, because the
	// handler may run again. A longer one is answered with 413. Zero means [DefaultMaxBody].
	MaxBody int64

	// MaxAnswer bounds the answer under [Enforce], in bytes: it is held back until the change
	// is certain. A handler that writes more has failed. Zero means [DefaultMaxAnswer].
	MaxAnswer int
}

// Handler requires a stamp, and lets the guard compare it around the handler or in it.
//
// Under [Enforce] the answer is held back until the change is certain, so a handler can
// neither flush nor take over the connection ([http.ErrNotSupported]). A request with an
// Idempotency-Key that was done before is answered with what was answered then, if the
// resource records operations, with "Idempotency-Replayed: ?1" added: status, body and
// headers, but for cookies, are recorded in the same step as the change. Whether the repeat
// has the same body is not looked at.
func Handler(guard Guard, h http.Handler, opts *Options) http.Handler {
	if opts == nil {
		opts = &Options{}
	}
	m := &middleware{guard: guard, handler: h, guarded: opts.Guarded,
		maxBody: cmp.Or(opts.MaxBody, DefaultMaxBody), maxAnswer: cmp.Or(opts.MaxAnswer, DefaultMaxAnswer)}
	if m.guarded == nil {
		m.guarded = func(r *http.Request) bool { return !safe(r.Method) }
	}
	return m
}

type middleware struct {
	guard     Guard
	handler   http.Handler
	guarded   func(*http.Request) bool
	maxBody   int64
	maxAnswer int
}

// errAnswered is what a handler's change fails with that has answered so.
var errAnswered = errors.New("httpfence: the handler has answered with a failure")

// errTooLong is what it fails with if its answer cannot be held back.
var errTooLong = errors.New("httpfence: the answer is too long to be held back until the change is certain")

// ServeHTTP implements [http.Handler].
func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !m.guarded(r) {
		m.handler.ServeHTTP(w, r)
		return
	}
	s, err := stamp(r.Header)
	if err != nil {
		Answer(w, err)
		return
	}
	ctx := r.Context()
	switch id, there, err := operation(r.Header); {
	case err != nil:
		Answer(w, err)
		return
	case there:
		ctx = fence.WithOperation(ctx, id)
		if err := fence.OperationFrom(ctx).Check(); err != nil {
			Answer(w, err)
			return
		}
	}
	if m.guard.settles() {
		m.enforce(ctx, w, r, s)
		return
	}
	err = m.guard.run(ctx, s, func(ctx context.Context) error {
		m.handler.ServeHTTP(w, r.WithContext(ctx))
		return nil
	})
	if err != nil {
		Answer(w, err)
	}
}

// enforce runs the handler as the change, and then sends its answer.
func (m *middleware) enforce(ctx context.Context, w http.ResponseWriter, r *http.Request, s fence.Stamp) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, m.maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		http.Error(w, "httpfence: the body is longer than this service takes", http.StatusRequestEntityTooLarge)
		return
	} else if err != nil {
		http.Error(w, "httpfence: the body did not arrive", http.StatusBadRequest)
		return
	}
	var a *answer
	err = m.guard.run(ctx, s, func(ctx context.Context) error {
		a = newAnswer(m.maxAnswer)
		again := r.Clone(ctx)
		again.Body = io.NopCloser(bytes.NewReader(body))
		m.handler.ServeHTTP(a, again)
		switch {
		case a.tooLong:
			return errTooLong
		case a.status >= http.StatusBadRequest:
			return errAnswered
		}
		return a.record(ctx)
	})
	switch {
	case err == nil, errors.Is(err, errAnswered):
		a.send(w)
	case recorded(w, err), Answer(w, err):
	default:
		// The store's own words are for the log of whoever runs it, not for the client.
		http.Error(w, "httpfence: the write failed, and nothing was applied", http.StatusInternalServerError)
	}
}
