package httpfence

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/etcdfence/etcdfence/fence"
)

// ProblemType is what the type of our problem details begins with; the name of the answer
// follows.
const ProblemType = "https://github.com/etcdfence/etcdfence/blob/main/docs/http-and-grpc.md#"

const contentType = "application/problem+json"

// kinds are the answers that have a name on the wire. The order matters: a refusal may be
// wrapped in something that may be tried again, and not the other way round.
var kinds = []struct {
	name   string
	err    error
	status int
}{
	{"stale", fence.ErrStale, http.StatusPreconditionFailed},
	{"replayed", fence.ErrReplayed, http.StatusPreconditionFailed},
	{"moved", fence.ErrMoved, http.StatusPreconditionFailed},
	{"conflict", fence.ErrConflict, http.StatusConflict},
	{"wrong-lock", fence.ErrWrongLock, http.StatusConflict},
	{"no-token", fence.ErrNoToken, http.StatusPreconditionRequired},
	{"malformed-token", fence.ErrBadToken, http.StatusBadRequest},
	{"malformed-operation-id", fence.ErrBadOperation, http.StatusBadRequest},
	{"duplicate", fence.ErrDuplicate, http.StatusConflict},
	{"unknown-outcome", fence.ErrUnknownOutcome, http.StatusGatewayTimeout},
	{"contended", fence.ErrContended, http.StatusServiceUnavailable},
}

// problem is a problem detail of RFC 9457, with members of ours.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`

	Lock      *string      `json:"lock,omitempty"` // of a refusal
	Presented *fence.Stamp `json:"presented,omitempty"`
	Mark      *fence.Stamp `json:"mark,omitempty"`

	Operation *string      `json:"operation,omitempty"` // of a duplicate
	Stamp     *fence.Stamp `json:"stamp,omitempty"`
	Result    []byte       `json:"result"` // null and empty are different
}

// Answer writes the problem detail for an error of the fence, for handlers behind [HandOver]
// whose own transaction has refused. It returns false, and writes nothing, for every other
// error. A client is told the answer and the stamps, and nothing of the store.
func Answer(w http.ResponseWriter, err error) bool {
	for _, k := range kinds {
		if !errors.Is(err, k.err) {
			continue
		}
		p := problem{Type: ProblemType + k.name, Title: k.err.Error(), Status: k.status}
		if refused := (*fence.RefusedError)(nil); errors.As(err, &refused) {
			p.Detail, p.Lock = refused.Error(), &refused.Lock
			p.Presented, p.Mark = some(refused.Presented), some(refused.Mark)
		}
		if done := (*fence.DuplicateError)(nil); errors.As(err, &done) {
			p.Detail, p.Operation, p.Stamp, p.Result = done.Error(), &done.Operation, some(done.Stamp), done.Result
		}
		body, jerr := json.Marshal(p)
		if jerr != nil { // stamps are valid, so this cannot be
			http.Error(w, k.err.Error(), k.status)
			return true
		}
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Cache-Control", "no-store")
		h.Del("Content-Length")
		if k.status == http.StatusServiceUnavailable {
			h.Set("Retry-After", "1")
		}
		w.WriteHeader(k.status)
		_, _ = w.Write(append(body, '\n')) // or the client has gone
		return true
	}
	return false
}

func some(s fence.Stamp) *fence.Stamp {
	if s.IsZero() {
		return nil
	}
	return &s
}

// maxProblem is how much of a body is read to see what it says.
const maxProblem = 64 << 10

// Error returns the fence's error that a response carries, or nil if it carries none. The
// body can be read as before.
func Error(resp *http.Response) error {
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media != contentType || resp.Body == nil {
		return nil
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}
	var p problem
	if err != nil || json.Unmarshal(head, &p) != nil {
		return unreadable(head)
	}
	return p.restore()
}

// unreadable is for problems of ours whose details cannot be read: the type may still tell.
func unreadable(head []byte) error {
	var p struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(head, &p) // or it has no type
	return problem{Type: p.Type}.restore()
}

func (p problem) restore() error {
	name, ours := strings.CutPrefix(p.Type, ProblemType)
	if !ours {
		return nil
	}
	for _, k := range kinds {
		if k.name != name {
			continue
		}
		switch {
		case p.Lock != nil:
			return &fence.RefusedError{Lock: *p.Lock, Presented: none(p.Presented), Mark: none(p.Mark), Reason: k.err}
		case p.Operation != nil:
			return &fence.DuplicateError{Operation: *p.Operation, Stamp: none(p.Stamp), Result: p.Result}
		}
		return k.err
	}
	return nil
}

func none(s *fence.Stamp) fence.Stamp {
	if s == nil {
		return fence.Stamp{}
	}
	return *s
}
