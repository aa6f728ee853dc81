package redisfence

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// MaxWords is how many words one command of a change may have, its name included: Lua's
// stack ends not far behind.
const MaxWords = 4000

// MaxBytes is how long one word may be: Redis takes no longer one by default.
const MaxBytes = 512 << 20

// Tx is a change: a list of commands, which Redis runs behind the comparison and in one
// step with it. The methods only note them down; none is run before the change returns.
// They have no results, since the answer of a call may be lost: read afterwards, which the
// claim makes safe.
//
// The commands are those of which it can be seen beforehand whether Redis will fail them:
// by the types of their keys, and the bounds of counters. For others there is [Tx.Run].
//
// A method that is called with what can never work, such as RPush on a key that this same
// change has Set, notes that down, and Apply returns it: see [ErrChange] and [ErrSlot]. A
// Tx must not be kept, nor used by several goroutines.
type Tx struct {
	plan
	words  []any
	script *Script
	count  int
}

// add notes a command down. Its first word after the name is a key that needs to be of a
// type, or missing; "" is any type.
func (tx *Tx) add(kind, name, key string, words ...string) {
	switch {
	case tx.err != nil:
	case tx.script != nil:
		tx.fail("%s behind a Script, which must be the whole change", name)
	case len(words)+2 > MaxWords:
		tx.fail("%s of %.80q has %d words, more than %d", name, key, len(words)+2, MaxWords)
	case !tx.touch(key) || !tx.use(key, kind):
	default:
		tx.words = append(tx.words, len(words)+2, name, key)
		for _, w := range words {
			if len(w) > MaxBytes {
				tx.fail("%s of %.80q has a word of %d bytes, more than %d", name, key, len(w), MaxBytes)
				return
			}
			tx.words = append(tx.words, w)
		}
		tx.count++
	}
}

// Set sets a key to a string, whatever it was, and for ever.
func (tx *Tx) Set(key, value string) {
	tx.add("", "SET", key, value)
	tx.become(key, "string", value)
}

// SetFor is Set for a time, at least a millisecond.
func (tx *Tx) SetFor(key, value string, ttl time.Duration) {
	if tx.lasts("SET", key, ttl) {
		tx.add("", "SET", key, value, "PX", strconv.FormatInt(ttl.Milliseconds(), 10))
		tx.become(key, "string", value)
	}
}

// Del deletes keys of any type. Those that are missing do not matter.
func (tx *Tx) Del(keys ...string) {
	for _, key := range keys {
		tx.add("", "DEL", key)
		tx.become(key, "", "")
	}
}

// Expire lets a key end after a time, at least a millisecond, if it is there.
func (tx *Tx) Expire(key string, ttl time.Duration) {
	if tx.lasts("PEXPIRE", key, ttl) {
		tx.add("", "PEXPIRE", key, strconv.FormatInt(ttl.Milliseconds(), 10))
	}
}

// Persist takes back what Expire or SetFor has said, if the key is there.
func (tx *Tx) Persist(key string) { tx.add("", "PERSIST", key) }

// IncrBy adds to an integer, which is 0 if the key is missing.
func (tx *Tx) IncrBy(key string, n int64) {
	tx.add("string", "INCRBY", key, strconv.FormatInt(n, 10))
	tx.increment(key, "", n)
}

// HSet sets a field of a hash. More pairs of fields and values may follow.
func (tx *Tx) HSet(key, field, value string, more ...string) {
	if len(more)%2 != 0 {
		tx.fail("HSET of %.80q: a field has no value", key)
		return
	}
	pairs := append([]string{field, value}, more...)
	tx.add("hash", "HSET", key, pairs...)
	for i := 0; i < len(pairs); i += 2 {
		tx.setField(key, pairs[i], pairs[i+1])
	}
}

// HDel deletes fields of a hash. Those that are missing do not matter.
func (tx *Tx) HDel(key, field string, more ...string) {
	tx.add("hash", "HDEL", key, append([]string{field}, more...)...)
	for _, f := range append([]string{field}, more...) {
		tx.setField(key, f, "0") // as HINCRBY takes a missing one
	}
}

// HIncrBy adds to an integer in a field of a hash, which is 0 if it is missing.
func (tx *Tx) HIncrBy(key, field string, n int64) {
	tx.add("hash", "HINCRBY", key, field, strconv.FormatInt(n, 10))
	tx.increment(key, field, n)
}

// RPush appends to a list.
func (tx *Tx) RPush(key, value string, more ...string) {
	tx.add("list", "RPUSH", key, append([]string{value}, more...)...)
}

// LPush puts values before a list, the last one first.
func (tx *Tx) LPush(key, value string, more ...string) {
	tx.add("list", "LPUSH", key, append([]string{value}, more...)...)
}

// LTrim keeps a part of a list; negative numbers count from its end, which is -1.
func (tx *Tx) LTrim(key string, start, stop int64) {
	tx.add("list", "LTRIM", key, strconv.FormatInt(start, 10), strconv.FormatInt(stop, 10))
}

// SAdd adds to a set.
func (tx *Tx) SAdd(key, member string, more ...string) {
	tx.add("set", "SADD", key, append([]string{member}, more...)...)
}

// SRem takes out of a set.
func (tx *Tx) SRem(key, member string, more ...string) {
	tx.add("set", "SREM", key, append([]string{member}, more...)...)
}

// ZAdd adds to a sorted set, or changes a score, which must be a number.
func (tx *Tx) ZAdd(key string, score float64, member string) {
	if math.IsNaN(score) {
		tx.fail("ZADD of %.80q: the score is not a number", key)
		return
	}
	tx.add("zset", "ZADD", key, strconv.FormatFloat(score, 'g', -1, 64), member)
}

// ZRem takes out of a sorted set.
func (tx *Tx) ZRem(key, member string, more ...string) {
	tx.add("zset", "ZREM", key, append([]string{member}, more...)...)
}

// XAdd appends an entry to a stream, under an id of Redis' own. More pairs of fields and
// values may follow.
func (tx *Tx) XAdd(key, field, value string, more ...string) {
	if len(more)%2 != 0 {
		tx.fail("XADD to %.80q: a field has no value", key)
		return
	}
	tx.add("stream", "XADD", key, append([]string{"*", field, value}, more...)...)
}

// Run makes a Script the change. It must be alone in it.
func (tx *Tx) Run(s *Script, keys []string, args ...string) {
	switch {
	case tx.err != nil:
	case s == nil || s.text == "":
		tx.fail("no Script to run")
	case tx.script != nil || tx.count > 0:
		tx.fail("a Script must be the whole change")
	default:
		tx.script = s
		for i, key := range keys {
			if !tx.touch(key) {
				return
			}
			if len(tx.keys) != i+1 {
				tx.fail("the key %.80q is given twice", key)
				return
			}
		}
		for _, a := range args {
			tx.words = append(tx.words, a)
		}
	}
}

func (tx *Tx) lasts(name, key string, ttl time.Duration) bool {
	if ttl < time.Millisecond {
		tx.fail("%s of %.80q: it cannot last %v; a millisecond is the least", name, key, ttl)
	}
	return tx.err == nil
}

func (p *plan) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s", ErrChange, fmt.Sprintf(format, args...))
	}
}
