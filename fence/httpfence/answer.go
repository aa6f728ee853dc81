package httpfence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"

	"github.com/etcdfence/etcdfence/fence"
)

// answer is a response that is held back.
type answer struct {
	header  http.Header
	sent    http.Header // as it was when the status was written
	status  int
	body    bytes.Buffer
	room    int
	tooLong bool
}

func newAnswer(room int) *answer { return &answer{header: http.Header{}, room: room} }

// Header implements [http.ResponseWriter].
func (a *answer) Header() http.Header { return a.header }

// WriteHeader keeps the first status; informational ones are not sent.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status, a.sent = status, a.header.Clone()
	}
}

// Write keeps the bytes, as long as there is room.
func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		if a.header.Get("Content-Type") == "" {
			a.header.Set("Content-Type", http.DetectContentType(b))
		}
		a.WriteHeader(http.StatusOK)
	}
	if a.room -= len(b); a.room < 0 {
		a.tooLong = true
		return 0, errTooLong
	}
	return a.body.Write(b)
}

// send passes it on.
func (a *answer) send(w http.ResponseWriter) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	maps.Copy(w.Header(), a.sent)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // or the client has gone, and asks again with the same stamp
}

// stored is an answer as an operation's result.
type stored struct {
	Form   int         `json:"httpfence"`
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

// record makes the answer the operation's result, if there is one.
func (a *answer) record(ctx context.Context) error {
	op := fence.OperationFrom(ctx)
	if op == nil {
		return nil
	}
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	header := a.sent.Clone()
	header.Del("Set-Cookie") // they were for whoever asked then
	header.Del("Date")
	result, err := json.Marshal(stored{1, a.status, header, a.body.Bytes()})
	if err != nil {
		return err
	}
	op.SetResult(result)
	return nil
}

// recorded answers a duplicate with what was answered before.
func recorded(w http.ResponseWriter, err error) bool {
	var done *fence.DuplicateError
	var before stored
	if !errors.As(err, &done) || json.Unmarshal(done.Result, &before) != nil || before.Form != 1 ||
		before.Status < http.StatusOK || before.Status >= http.StatusBadRequest {
		return false // recorded by somebody else, for whom it has another meaning
	}
	maps.Copy(w.Header(), before.Header)
	w.Header().Set("Idempotency-Replayed", "?1")
	w.WriteHeader(before.Status)
	_, _ = w.Write(before.Body)
	return true
}
