package etcdkv

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcdfence/etcdfence/fence"
)

// keys are where the fence keeps its own things: beside the data, not under it.
//
//	accounts/...                    the data
//	accounts.fence/mark/stamp       0000000000000000000.0000000000000000053.0000000000000000007 4f1c...
//	accounts.fence/mark/token       v1;e=0;r=53;o=694d81%2Fweb-7:4711;l=orders%2F42
//	accounts.fence/mark/lock        orders/42
//	accounts.fence/operation/<id>   the stamp that did it, and its result
//
// What follows the three numbers of the stamp is a word that the call has made up. It
// tells a call that its own first sending was applied, if the client has sent it twice.
// Being behind the numbers it takes no part in the comparison.
type keys struct{ data, mark, operations string }

const reserved = ".fence"

func keysOf(prefix string) keys {
	own := prefix + reserved + "/"
	return keys{data: prefix + "/", mark: own + "mark/", operations: own + "operation/"}
}

func (k keys) stamp() string { return k.mark + "stamp" }
func (k keys) token() string { return k.mark + "token" }
func (k keys) lock() string  { return k.mark + "lock" }

// isReserved reports whether a key, or a prefix, could name the fence's own keys of this
// or of another resource.
func isReserved(key string) bool { return strings.Contains(key+"/", reserved+"/") }

// leastEpoch is less than every stamp that is whole.
var leastEpoch = strings.Repeat("0", 19)

// generation is what every stamp of a token begins with; numbers are the whole stamp.
func generation(s fence.Stamp) string {
	return fmt.Sprintf("%019d.%019d.", s.Token().Epoch(), s.Token().Revision())
}

func numbers(s fence.Stamp) string { return generation(s) + fmt.Sprintf("%019d", s.Sequence()) }

func tokenText(s fence.Stamp) string {
	text, _ := s.Token().MarshalText() // fails for the zero Token, which came no further than New
	return string(text)
}

// found is what an Else has read, all at one revision.
type found struct {
	mark      fence.Stamp
	nonce     string
	modified  int64          // the mark's mod revision, 0 if there is none
	created   int64          // the lock key's create revision, 0 if it is gone
	operation *doneOperation // nil if it was not done
}

type doneOperation struct {
	stamp  fence.Stamp
	result []byte
}

// read takes the answers to facts apart.
func (k keys) read(responses []*pb.ResponseOp, lockKey, operation string) (f found, err error) {
	f.mark, f.nonce, f.modified, err = k.readMark(responses[0].GetResponseRange())
	if err != nil {
		return found{}, err
	}
	next := responses[1:]
	if lockKey != "" {
		for _, kv := range next[0].GetResponseRange().Kvs {
			f.created = kv.CreateRevision
		}
		next = next[1:]
	}
	if operation != "" {
		for _, kv := range next[0].GetResponseRange().Kvs {
			if f.operation, err = readOperation(string(kv.Value)); err != nil {
				return found{}, fmt.Errorf("%w: %s: %w", ErrDamaged, operation, err)
			}
		}
	}
	return f, nil
}

// readMark never takes a mark that it cannot read for none.
func (k keys) readMark(r *pb.RangeResponse) (mark fence.Stamp, nonce string, modified int64, err error) {
	var stamp, token, lock string
	for _, kv := range r.GetKvs() {
		switch string(kv.Key) {
		case k.stamp():
			stamp, modified = string(kv.Value), kv.ModRevision
		case k.token():
			token = string(kv.Value)
		case k.lock():
			lock = string(kv.Value)
		}
	}
	if len(r.GetKvs()) == 0 {
		return fence.Stamp{}, "", 0, nil
	}
	three, nonce, _ := strings.Cut(stamp, " ")
	var t fence.Token
	if err := t.UnmarshalText([]byte(token)); err != nil {
		return fence.Stamp{}, "", 0, fmt.Errorf("%w: %s: %w", ErrDamaged, k.token(), err)
	}
	sequence, err := strconv.ParseInt(three[strings.LastIndexByte(three, '.')+1:], 10, 64)
	if mark = t.At(sequence); err != nil || numbers(mark) != three {
		return fence.Stamp{}, "", 0, fmt.Errorf("%w: %s is %q beside the token %v", ErrDamaged, k.stamp(), stamp, t)
	}
	if t.Lock() != lock {
		return fence.Stamp{}, "", 0, fmt.Errorf("%w: %s is %q beside the token %v", ErrDamaged, k.lock(), lock, t)
	}
	return mark, nonce, modified, nil
}

// An operation's value is the stamp's text form, then "=" and the result if the change
// has set one.
func writeOperation(s fence.Stamp, op *fence.Operation) string {
	text, _ := s.MarshalText()
	if op.Result() == nil {
		return string(text)
	}
	return string(text) + "\n=" + string(op.Result())
}

func readOperation(value string) (*doneOperation, error) {
	text, result, has := strings.Cut(value, "\n")
	var d doneOperation
	if err := d.stamp.UnmarshalText([]byte(text)); err != nil {
		return nil, err
	}
	if has {
		if !strings.HasPrefix(result, "=") {
			return nil, errors.New("its result is not in our form")
		}
		d.result = []byte(result[1:])
	}
	return &d, nil
}
