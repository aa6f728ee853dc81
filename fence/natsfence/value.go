package natsfence

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// value is what the key holds: one line of JSON, and behind it the body as it is.
//
//	{"etcdfence":1,"mark":"v1;e=0;r=53;s=7;o=694d81%2Fweb-7:4711;l=orders%2F42","call":"..."}
//	the body
//
// So a reader who knows nothing of fences drops the first line.
type value struct {
	mark       fence.Stamp
	call       string // a word that the call which wrote it has made up
	operations []operation
	body       []byte
}

type operation struct {
	ID     string      `json:"id"`
	Stamp  fence.Stamp `json:"stamp"`
	Result []byte      `json:"result"` // null and empty are different
}

type header struct {
	Form       int         `json:"etcdfence"`
	Mark       string      `json:"mark"`
	Call       string      `json:"call"`
	Operations []operation `json:"operations,omitempty"`
}

const form = 1

func (v value) encode() ([]byte, error) {
	mark, err := v.mark.MarshalText()
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(header{form, string(mark), v.call, v.operations})
	if err != nil {
		return nil, err
	}
	return append(append(line, '\n'), v.body...), nil
}

// decode never takes a value that it cannot read for one without a mark.
func decode(data []byte) (value, error) {
	line, body, ended := bytes.Cut(data, []byte("\n"))
	foreign := func(why any) (value, error) {
		return value{}, fmt.Errorf("%w: its first line is %.40q: %v", ErrForeign, line, why)
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
	v := value{call: h.Call, operations: h.Operations, body: body}
	if err := v.mark.UnmarshalText([]byte(h.Mark)); err != nil {
		return foreign(err)
	}
	return v, nil
}

// done is the answer of an operation that was done before, nil if it was not.
func (v value) done(op *fence.Operation) error {
	for _, o := range v.operations {
		if o.ID == op.ID() {
			return &fence.DuplicateError{Operation: o.ID, Stamp: o.Stamp, Result: bytes.Clone(o.Result)}
		}
	}
	return nil
}

// record returns the list with one more, of which the newest are kept.
func record(list []operation, o operation, keep int) []operation {
	if extra := len(list) + 1 - keep; extra > 0 {
		list = list[extra:]
	}
	return append(list[:len(list):len(list)], o) // never into an array that others read
}
