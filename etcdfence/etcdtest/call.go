package etcdtest

import (
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// An Op is the kind of a call to etcd.
type Op string

// The kinds of calls that the fronts know. AnyOp, in a rule, is every kind.
const (
	AnyOp           Op = ""
	OpGet           Op = "get"
	OpPut           Op = "put"
	OpDelete        Op = "delete"
	OpTxn           Op = "txn"
	OpCompact       Op = "compact"
	OpWatch         Op = "watch"
	OpGrant         Op = "grant"
	OpRevoke        Op = "revoke"
	OpKeepAlive     Op = "keepalive"
	OpKeepAliveOnce Op = "keepalive-once"
	OpTimeToLive    Op = "time-to-live"
	OpLeases        Op = "leases"
)

// A Call is what a front saw: enough to choose it in a rule. Do not change it.
type Call struct {
	Op    Op
	Key   string              // of a get, put, delete or watch
	End   string              // the end of its range, "" for one key
	Lease clientv3.LeaseID    // of a revoke, keep-alive or time-to-live
	If    []clientv3.Cmp      // of a txn
	Then  []clientv3.Op       // of a txn
	Else  []clientv3.Op       // of a txn
	Opts  []clientv3.OpOption // as the caller gave them, without those of a txn
}

// A span is a key or a range of keys.
type span struct{ key, end string }

func (s span) covers(key string) bool {
	switch s.end {
	case "":
		return key == s.key
	case "\x00": // from key on
		return key >= s.key
	default:
		return key >= s.key && key < s.end
	}
}

// spans returns every key and range that the call names.
func (c Call) spans() []span {
	if c.Op != OpTxn {
		return []span{{c.Key, c.End}}
	}
	var all []span
	collect(&all, c.If, c.Then, c.Else)
	return all
}

// collect adds what a transaction names, nested ones included.
func collect(all *[]span, cmps []clientv3.Cmp, branches ...[]clientv3.Op) {
	for i := range cmps {
		pb := cmps[i].GetCompare()
		*all = append(*all, span{string(pb.GetKey()), string(pb.GetRangeEnd())})
	}
	for _, ops := range branches {
		for _, op := range ops {
			if op.IsTxn() {
				inner, then, els := op.Txn()
				collect(all, inner, then, els)
				continue
			}
			*all = append(*all, span{string(op.KeyBytes()), string(op.RangeBytes())})
		}
	}
}

// Touches reports whether the call names the key, alone or in a range.
func (c Call) Touches(key string) bool {
	for _, s := range c.spans() {
		if s.covers(key) {
			return true
		}
	}
	return false
}

// Under reports whether the call names a key, or the start of a range, that
// begins with the prefix.
func (c Call) Under(prefix string) bool {
	for _, s := range c.spans() {
		if strings.HasPrefix(s.key, prefix) {
			return true
		}
	}
	return false
}

// Writes reports whether a txn has a put or a delete in either branch, and for
// other kinds whether it is one.
func (c Call) Writes() bool {
	if c.Op != OpTxn {
		return c.Op == OpPut || c.Op == OpDelete
	}
	return writes(c.Then) || writes(c.Else)
}

func writes(ops []clientv3.Op) bool {
	for _, op := range ops {
		if op.IsPut() || op.IsDelete() {
			return true
		}
		if op.IsTxn() {
			if _, then, els := op.Txn(); writes(then) || writes(els) {
				return true
			}
		}
	}
	return false
}
