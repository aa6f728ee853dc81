// Package stamped is for resources that keep mark and body in one value and replace it as
// a whole: natsfence, s3fence, filefence. value.go is the form of that value, rules.go what
// is decided about it. How it is replaced, and what makes that atomic, is theirs.
package stamped

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// Value is what the store holds: one line of JSON, and behind it the body as it is.
//
//	{"etcdfence":1,"mark":"v1;e=0;r=53;s=7;o=694d81%2Fweb-7:4711;l=orders%2F42","call":"..."}
//	the body
//
// So a reader who knows nothing of fences drops the first line.
type Value struct {
	Mark       fence.Stamp
	Call       string // a word that the call which wrote it has made up
	Operations []Operation
	Body       []byte
}

// Operation is one that was done, with its answer.
type Operation struct {
	ID     string      `json:"id"`
	Stamp  fence.Stamp `json:"stamp"`
	Result []byte      `json:"result"` // null and empty are different
}

type header struct {
	Form       int         `json:"etcdfence"`
	Mark       string      `json:"mark"`
	Call       string      `json:"call"`
	Operations []Operation `json:"operations,omitempty"`
}

const form = 1

// Encode returns the bytes to store, or [fence.ErrNoToken] for a value without a mark.
func (v Value) Encode() ([]byte, error) {
	mark, err := v.Mark.MarshalText()
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(header{form, string(mark), v.Call, v.Operations})
	if err != nil {
		return nil, err
	}
	return append(append(line, '\n'), v.Body...), nil
}

// ErrForeign is returned for bytes that Encode has not made.
var ErrForeign = errors.New("not written by the fence")

// Decode never takes what it cannot read for a value without a mark: that is [ErrForeign].
func Decode(data []byte) (Value, error) {
	line, body, ended := bytes.Cut(data, []byte("\n"))
	foreign := func(why any) (Value, error) {
		return Value{}, fmt.Errorf("%w: its first line is %.40q: %v", ErrForeign, line, why)
	}
	var h header
	strict := json.NewDecoder(bytes.NewReader(line))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&h); err != nil {
		return foreign(err)
	}
	if h.Form != form || !ended {
		return foreign(fmt.Sprintf("it is not of form %d", form))
	}
	v := Value{Call: h.Call, Operations: h.Operations, Body: body}
	if err := v.Mark.UnmarshalText([]byte(h.Mark)); err != nil {
		return foreign(err)
	}
	return v, nil
}

// done is the answer of an operation that was done before, nil if it was not.
func (v Value) done(op *fence.Operation) error {
	for _, o := range v.Operations {
		if o.ID == op.ID() {
			return &fence.DuplicateError{Operation: o.ID, Stamp: o.Stamp, Result: bytes.Clone(o.Result)}
		}
	}
	return nil
}

// record returns the list with one more, of which the newest are kept.
func record(list []Operation, o Operation, keep int) []Operation {
	if extra := len(list) + 1 - keep; extra > 0 {
		list = list[extra:]
	}
	return append(list[:len(list):len(list)], o) // never into an array that others read
}
