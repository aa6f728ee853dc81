package etcdkv

import (
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/fence"
)

// The atomic step: one Txn of etcd, whose If is the rule and whose Else brings along
// what explains a refusal. Nothing else decides. Written down, a write is
//
//	If    stamp < "epoch.revision.sequence"   strictly newer than the mark,
//	      token = this token                  of the same generation and owner,
//	      create(lock key) = revision         held until this moment,
//	      create(operation) = 0               not done before,
//	      mod(key) = revision                 for each key that the change has read
//	Then  put stamp, put operation, the staged puts and deletes
//	Else  get stamp and token, get lock key, get operation
//
// The stamp's three numbers have a fixed width, so byte order is number order up to
// 2^63-1.
//
// A Txn has no "or". So the rule has one If for each of the three relations in which the
// stamp can stand to the mark, and each of them, being true, is all of the rule:
//
//	sameHold   "epoch.revision." < stamp < "epoch.revision.sequence", token = this token
//	newerHold  "0..." < stamp < "epoch.revision.", lock = this lock
//	firstEver  create(stamp) = create(token) = create(lock) = 0
//
// A value compare on a missing key is false, "!=" included, so the first two are false
// before the first write. The lower bounds keep out a stamp that somebody has damaged. Who guesses wrong learns from the Else which one to send. A
// nested Txn can hold all three, as claim shows; but a write would have to carry its
// operations three times then, through etcd's limits of 128 operations and 1.5 MiB.
type relation int

const (
	sameHold relation = iota // every write after a claim: the guess
	newerHold
	firstEver
)

// relationTo is the relation that the stamp has to the mark that was found.
func relationTo(mark, s fence.Stamp) relation {
	switch {
	case mark.IsZero():
		return firstEver
	case mark.Token().Compare(s.Token()) < 0:
		return newerHold
	}
	return sameHold
}

// ifNewer is the If of a relation.
func (k keys) ifNewer(rel relation, s fence.Stamp, anyOrder bool) []clientv3.Cmp {
	value := func(key, op, value string) clientv3.Cmp { return clientv3.Compare(clientv3.Value(key), op, value) }
	switch rel {
	case firstEver:
		var none []clientv3.Cmp
		for _, key := range []string{k.stamp(), k.token(), k.lock()} {
			none = append(none, clientv3.Compare(clientv3.CreateRevision(key), "=", 0))
		}
		return none
	case newerHold:
		return []clientv3.Cmp{value(k.stamp(), ">", leastEpoch), value(k.stamp(), "<", generation(s)),
			value(k.lock(), "=", s.Token().Lock())}
	}
	if anyOrder {
		return []clientv3.Cmp{value(k.stamp(), ">", generation(s)), value(k.token(), "=", tokenText(s))}
	}
	return []clientv3.Cmp{value(k.stamp(), ">", generation(s)), value(k.stamp(), "<", numbers(s)),
		value(k.token(), "=", tokenText(s))}
}

// raise is what makes s the mark.
func (k keys) raise(rel relation, s fence.Stamp, nonce string, anyOrder bool) []clientv3.Op {
	stamp := clientv3.OpPut(k.stamp(), numbers(s)+" "+nonce)
	switch {
	case rel == firstEver:
		return []clientv3.Op{stamp, clientv3.OpPut(k.token(), tokenText(s)), clientv3.OpPut(k.lock(), s.Token().Lock())}
	case rel == newerHold:
		return []clientv3.Op{stamp, clientv3.OpPut(k.token(), tokenText(s))}
	case anyOrder: // upwards only
		higher := clientv3.Compare(clientv3.Value(k.stamp()), "<", numbers(s))
		return []clientv3.Op{clientv3.OpTxn([]clientv3.Cmp{higher}, []clientv3.Op{stamp}, nil)}
	}
	return []clientv3.Op{stamp}
}

// write is one try of a write.
type write struct {
	keys
	rel       relation
	stamp     fence.Stamp
	nonce     string
	lockKey   string // "" if it is not compared
	op        *fence.Operation
	operation string // its key, "" if there is none
	tx        *Tx    // what the change has staged
	anyOrder  bool
}

func (w write) txn(on clientv3.Txn) clientv3.Txn {
	newer := w.ifNewer(w.rel, w.stamp, w.anyOrder)
	then := w.raise(w.rel, w.stamp, w.nonce, w.anyOrder)
	if w.lockKey != "" {
		newer = append(newer, held(w.lockKey, w.stamp))
	}
	if w.operation != "" {
		newer = append(newer, clientv3.Compare(clientv3.CreateRevision(w.operation), "=", 0))
		then = append(then, clientv3.OpPut(w.operation, writeOperation(w.stamp, w.op)))
	}
	newer = append(newer, w.tx.unmoved()...)
	then = append(then, w.tx.ops()...)
	return on.If(newer...).Then(then...).Else(w.facts(w.lockKey, w.operation)...)
}

// claim raises the mark to s, the sequence of which is 0, in one round trip whatever the
// mark is. Of the same hold a mark is never older than its claim.
func (k keys) claim(on clientv3.Txn, s fence.Stamp, nonce, lockKey string) clientv3.Txn {
	newer, first := k.ifNewer(newerHold, s, false), k.ifNewer(firstEver, s, false)
	if lockKey != "" {
		newer, first = append(newer, held(lockKey, s)), append(first, held(lockKey, s))
	}
	return on.If(newer...).Then(k.raise(newerHold, s, nonce, false)...).
		Else(clientv3.OpTxn(first, k.raise(firstEver, s, nonce, false), k.facts(lockKey, "")))
}

// rebase sets the mark to a stamp if it is the one that was found at a revision.
func (k keys) rebase(on clientv3.Txn, found int64, to fence.Stamp, nonce string) clientv3.Txn {
	return on.If(clientv3.Compare(clientv3.ModRevision(k.stamp()), "=", found)).
		Then(k.raise(firstEver, to, nonce, false)...).
		Else(k.facts("", "")...)
}

// held is true as long as the hold's own key is in the queue of the lock: it was the
// first there when the token was made, and nobody can get ahead of it.
func held(lockKey string, s fence.Stamp) clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(lockKey), "=", s.Token().Revision())
}

// facts are what an Else reads: see found.
func (k keys) facts(lockKey, operation string) []clientv3.Op {
	ops := []clientv3.Op{clientv3.OpGet(k.mark, clientv3.WithPrefix())}
	for _, key := range []string{lockKey, operation} {
		if key != "" {
			ops = append(ops, clientv3.OpGet(key))
		}
	}
	return ops
}
