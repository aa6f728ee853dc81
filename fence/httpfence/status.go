package httpfence

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/etcdfence/etcdfence/fence"
)

// StatusError is returned by a [Remote] for an answer that is neither a success nor the
// fence's. A status of 400 or more comes from the handler, and under [Enforce] nothing was
// applied then. Those that a gateway answers with when the service did not (502, 503, 504),
// and redirects, match [fence.ErrUnknownOutcome]: send the same stamp again.
type StatusError struct {
	Status int    // of the response
	Text   string // the first line or so of the body
}

// Error implements error.
func (e *StatusError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("httpfence: the service answered %d %s: %s", e.Status, http.StatusText(e.Status), e.Text), ": ")
}

// Is tells errors.Is what is known of the outcome.
func (e *StatusError) Is(target error) bool {
	if target != fence.ErrUnknownOutcome {
		return false
	}
	switch e.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return e.Status < http.StatusBadRequest
}

func newStatusError(resp *http.Response) error {
	head, _ := io.ReadAll(io.LimitReader(resp.Body, 500)) // what has come is better than nothing
	text, _, _ := strings.Cut(strings.ToValidUTF8(strings.TrimSpace(string(head)), "?"), "\n")
	return &StatusError{Status: resp.StatusCode, Text: text}
}
