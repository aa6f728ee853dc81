package redisfence_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/etcdfence/etcdfence/fence/redisfence"
)

// Whatever is in the keys, a change is made as a whole or not at all. As a whole, it has
// done what the same commands do without a fence. Not at all only if one of them would have
// failed, or cannot be told not to.
func TestChangesAreWhole(t *testing.T) {
	p := fresh(t)
	sequence := int64(0)
	r := p.open(t, nil)
	twin := fresh(t)
	rapid.Check(t, func(rt *rapid.T) {
		must(t, p.clear(t))
		must(t, twin.clear(t))
		for range rapid.IntRange(0, 4).Draw(rt, "before") { // in no order of types
			c := command(rt)
			if _, err := c.plain(t, p); err == nil {
				_, err = c.plain(t, twin)
				must(t, err)
			}
		}
		before := p.dump(t)
		var commands []drawn
		for range rapid.IntRange(1, 5).Draw(rt, "change") {
			commands = append(commands, command(rt))
		}
		sequence++
		err := r.Apply(t.Context(), at(t, 5, sequence), do(func(tx *redisfence.Tx) {
			for _, c := range commands {
				c.add(tx, p)
			}
		}))
		after := p.dump(t)
		failed := 0
		for _, c := range commands {
			if _, err := c.plain(t, twin); err != nil {
				failed++
			}
		}
		switch {
		case err == nil && failed > 0:
			rt.Fatalf("%v on\n%s: %d of these must fail, and nothing was said", commands, before, failed)
		case err == nil && after != twin.dump(t):
			rt.Fatalf("%v on\n%s: got\n%s, want\n%s", commands, before, after, twin.dump(t))
		case err == nil:
		case after != before:
			rt.Fatalf("%v on\n%s: %v, and now there is\n%s", commands, before, err, after)
		case !errors.Is(err, redisfence.ErrChange) && !errors.Is(err, redisfence.ErrUnfit):
			rt.Fatalf("%v on\n%s: %v", commands, before, err)
		case failed == 0 && !mayEmpty(commands):
			rt.Fatalf("%v on\n%s: %v, though all of these work", commands, before, err)
		}
	})
}

// drawn is a command as words, without the key's tag.
type drawn []string

var counters = []string{"0", "1", "-1", "41", "text", "07", "9223372036854775807", "-9223372036854775808", "9007199254740993"}

func command(t *rapid.T) drawn {
	key := rapid.SampledFrom([]string{":a", ":b"}).Draw(t, "key")
	value := rapid.SampledFrom(counters).Draw(t, "value")
	by := rapid.SampledFrom([]string{"1", "-1", fmt.Sprint(math.MaxInt64), fmt.Sprint(math.MinInt64)}).Draw(t, "by")
	field := rapid.SampledFrom([]string{"", "f"}).Draw(t, "field")
	return rapid.SampledFrom([]drawn{
		{"SET", key, value}, {"DEL", key}, {"PEXPIRE", key, "3600000"}, {"PERSIST", key}, {"INCRBY", key, by}, {"INCRBY", key, by},
		{"HSET", key, field, value}, {"HDEL", key, field}, {"HINCRBY", key, field, by}, {"HINCRBY", key, field, by},
		{"RPUSH", key, value}, {"LTRIM", key, "1", "0"}, {"SADD", key, field}, {"SREM", key, field},
		{"ZADD", key, "1", field}, {"ZREM", key, field}, {"XADD", key, "*", "f", value},
	}).Draw(t, "command")
}

// mayEmpty reports whether a command may have deleted a key by taking the last thing out
// of it: then the fence takes it for one that is still there.
func mayEmpty(commands []drawn) bool {
	return slices.ContainsFunc(commands, func(c drawn) bool {
		return slices.Contains([]string{"HDEL", "LTRIM", "SREM", "ZREM"}, c[0])
	})
}

// plain runs the command without a fence.
func (c drawn) plain(t *testing.T, p place) (any, error) {
	words := []any{c[0], p.key(c[1])}
	for _, w := range c[2:] {
		words = append(words, w)
	}
	got, err := p.Do(t.Context(), words...).Result()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	return got, err
}

func (c drawn) add(tx *redisfence.Tx, p place) {
	key, w := p.key(c[1]), append(slices.Clone(c[2:]), "", "")
	var n int64
	_, _ = fmt.Sscan(w[0]+" "+w[1], &n)
	if c[0] == "HINCRBY" {
		_, _ = fmt.Sscan(w[1], &n)
	}
	map[string]func(){
		"SET":     func() { tx.Set(key, w[0]) },
		"DEL":     func() { tx.Del(key) },
		"PEXPIRE": func() { tx.Expire(key, time.Hour) },
		"PERSIST": func() { tx.Persist(key) },
		"INCRBY":  func() { tx.IncrBy(key, n) },
		"HSET":    func() { tx.HSet(key, w[0], w[1]) },
		"HDEL":    func() { tx.HDel(key, w[0]) },
		"HINCRBY": func() { tx.HIncrBy(key, w[0], n) },
		"RPUSH":   func() { tx.RPush(key, w[0]) },
		"LTRIM":   func() { tx.LTrim(key, 1, 0) },
		"SADD":    func() { tx.SAdd(key, w[0]) },
		"SREM":    func() { tx.SRem(key, w[0]) },
		"ZADD":    func() { tx.ZAdd(key, 1, w[1]) },
		"ZREM":    func() { tx.ZRem(key, w[0]) },
		"XADD":    func() { tx.XAdd(key, "f", w[2]) },
	}[c[0]]()
}

func (c drawn) String() string { return fmt.Sprintf("%q", []string(c)) }

// clear deletes all but the fence's own.
func (p place) clear(t *testing.T) error {
	return p.Del(t.Context(), p.key(":a"), p.key(":b"), strings.Trim(p.tag, "{}")).Err()
}
