package redisfence_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/redisfence"
)

// Redis runs the first command and fails the second: unless that is seen beforehand, half
// of the change stays (R4).
func TestFailingCommandLeavesEverything(t *testing.T) {
	p := fresh(t)
	r := p.open(t, nil)
	ctx := t.Context()
	must(t, r.Apply(ctx, at(t, 5, 1), p.set(":text", "text")))
	for key, value := range map[string]string{":most": "9223372036854775807", ":least": "-9223372036854775808",
		":padded": "07", ":wide": "9223372036854775808", ":space": " 7", ":minus": "-", ":empty": "", ":zero": "-0"} {
		must(t, p.Set(ctx, p.key(key), value, 0).Err())
	}
	must(t, p.HSet(ctx, p.key(":hash"), "text", "text", "most", "9223372036854775807").Err())
	must(t, p.RPush(ctx, p.key(":list"), "one").Err())
	before := p.dump(t)
	sequence := int64(1)
	for what, second := range map[string]func(tx *redisfence.Tx){
		"RPUSH to a string":        func(tx *redisfence.Tx) { tx.RPush(p.key(":text"), "x") },
		"LPUSH to a hash":          func(tx *redisfence.Tx) { tx.LPush(p.key(":hash"), "x") },
		"LTRIM of a string":        func(tx *redisfence.Tx) { tx.LTrim(p.key(":text"), 0, 1) },
		"SADD to a string":         func(tx *redisfence.Tx) { tx.SAdd(p.key(":text"), "x") },
		"SREM from a list":         func(tx *redisfence.Tx) { tx.SRem(p.key(":list"), "x") },
		"ZADD to a string":         func(tx *redisfence.Tx) { tx.ZAdd(p.key(":text"), 1, "x") },
		"ZREM from a list":         func(tx *redisfence.Tx) { tx.ZRem(p.key(":list"), "x") },
		"XADD to a string":         func(tx *redisfence.Tx) { tx.XAdd(p.key(":text"), "f", "x") },
		"HSET of a string":         func(tx *redisfence.Tx) { tx.HSet(p.key(":text"), "f", "x") },
		"HDEL from a list":         func(tx *redisfence.Tx) { tx.HDel(p.key(":list"), "f") },
		"HINCRBY of a list":        func(tx *redisfence.Tx) { tx.HIncrBy(p.key(":list"), "f", 1) },
		"HINCRBY of a text":        func(tx *redisfence.Tx) { tx.HIncrBy(p.key(":hash"), "text", 1) },
		"HINCRBY out of range":     func(tx *redisfence.Tx) { tx.HIncrBy(p.key(":hash"), "most", 1) },
		"INCRBY of a hash":         func(tx *redisfence.Tx) { tx.IncrBy(p.key(":hash"), 1) },
		"INCRBY of a text":         func(tx *redisfence.Tx) { tx.IncrBy(p.key(":text"), 1) },
		"INCRBY of an empty text":  func(tx *redisfence.Tx) { tx.IncrBy(p.key(":empty"), 1) },
		"INCRBY of a padded one":   func(tx *redisfence.Tx) { tx.IncrBy(p.key(":padded"), 1) },
		"INCRBY of a wide one":     func(tx *redisfence.Tx) { tx.IncrBy(p.key(":wide"), 1) },
		"INCRBY of one with space": func(tx *redisfence.Tx) { tx.IncrBy(p.key(":space"), 1) },
		"INCRBY of a minus":        func(tx *redisfence.Tx) { tx.IncrBy(p.key(":minus"), 1) },
		"INCRBY of minus zero":     func(tx *redisfence.Tx) { tx.IncrBy(p.key(":zero"), 1) },
		"INCRBY over the top":      func(tx *redisfence.Tx) { tx.IncrBy(p.key(":most"), 1) },
		"INCRBY under the bottom":  func(tx *redisfence.Tx) { tx.IncrBy(p.key(":least"), -1) },
		"INCRBY over and back":     func(tx *redisfence.Tx) { tx.IncrBy(p.key(":most"), 1); tx.IncrBy(p.key(":most"), -1) },
	} {
		sequence++
		err := r.Apply(ctx, at(t, 5, sequence), do(func(tx *redisfence.Tx) {
			tx.Set(p.key(":first"), "half")
			tx.Del(p.key(":list2"))
			second(tx)
			tx.Set(p.key(":last"), "whole")
		}))
		if !errors.Is(err, redisfence.ErrUnfit) || fence.SafeToRetry(err) {
			t.Errorf("%s: got %v, want %q", what, err, redisfence.ErrUnfit)
		}
		marked(t, r, at(t, 5, 1))
		if after := p.dump(t); after != before {
			t.Fatalf("%s: there is now\n%s and was\n%s", what, after, before)
		}
	}
	must(t, r.Apply(ctx, at(t, 5, 2), do(func(tx *redisfence.Tx) { // the stamp is not consumed
		tx.IncrBy(p.key(":most"), -1)
		tx.IncrBy(p.key(":most"), 1)
		tx.IncrBy(p.key(":least"), 1)
		tx.HIncrBy(p.key(":hash"), "most", -9223372036854775807)
		tx.HIncrBy(p.key(":hash"), "new", -9223372036854775808)
		tx.Del(p.key(":text"))
		tx.RPush(p.key(":text"), "x")
	})))
	if p.get(t, ":most") != "9223372036854775807" || p.get(t, ":least") != "-9223372036854775807" {
		t.Error(p.dump(t))
	}
}

// What can never work is told without asking Redis, and forgets the rest of the change.
func TestImpossibleChanges(t *testing.T) {
	p := fresh(t)
	r := p.open(t, nil)
	k := p.key(":k")
	script := redisfence.NewScript("")
	for what, f := range map[string]func(tx *redisfence.Tx){
		"two types":           func(tx *redisfence.Tx) { tx.RPush(k, "a"); tx.HSet(k, "f", "v") },
		"a type after Set":    func(tx *redisfence.Tx) { tx.Set(k, "a"); tx.SAdd(k, "m") },
		"INCRBY of a text":    func(tx *redisfence.Tx) { tx.Set(k, "a"); tx.IncrBy(k, 1) },
		"INCRBY of a float":   func(tx *redisfence.Tx) { tx.Set(k, "1.0"); tx.IncrBy(k, 1) },
		"HINCRBY of a text":   func(tx *redisfence.Tx) { tx.HSet(k, "f", "a"); tx.HIncrBy(k, "f", 1) },
		"INCRBY of nothing":   func(tx *redisfence.Tx) { tx.Set(k, ""); tx.IncrBy(k, 1) },
		"HINCRBY of nothing":  func(tx *redisfence.Tx) { tx.HSet(k, "f", ""); tx.HIncrBy(k, "f", 1) },
		"over the top":        func(tx *redisfence.Tx) { tx.Set(k, "9223372036854775807"); tx.IncrBy(k, 1) },
		"a wide sum":          func(tx *redisfence.Tx) { tx.IncrBy(k, math.MaxInt64); tx.IncrBy(k, math.MaxInt64); tx.IncrBy(k, 2) },
		"after a deletion":    func(tx *redisfence.Tx) { tx.Del(k); tx.IncrBy(k, math.MaxInt64); tx.IncrBy(k, 1) },
		"no time":             func(tx *redisfence.Tx) { tx.SetFor(k, "a", 0) },
		"less than a ms":      func(tx *redisfence.Tx) { tx.Expire(k, time.Microsecond) },
		"time backwards":      func(tx *redisfence.Tx) { tx.Expire(k, -time.Second) },
		"half a pair":         func(tx *redisfence.Tx) { tx.HSet(k, "f", "v", "g") },
		"half an entry":       func(tx *redisfence.Tx) { tx.XAdd(k, "f", "v", "g") },
		"no number":           func(tx *redisfence.Tx) { tx.ZAdd(k, math.NaN(), "m") },
		"too many words":      func(tx *redisfence.Tx) { tx.SAdd(k, "m", make([]string, redisfence.MaxWords)...) },
		"the mark":            func(tx *redisfence.Tx) { tx.Del(p.mark()) },
		"the operations":      func(tx *redisfence.Tx) { tx.Del(p.mark() + ":operations") },
		"their order":         func(tx *redisfence.Tx) { tx.Del(p.mark() + ":order") },
		"no script":           func(tx *redisfence.Tx) { tx.Run(nil, nil) },
		"an empty script":     func(tx *redisfence.Tx) { tx.Run(&redisfence.Script{}, nil) },
		"two scripts":         func(tx *redisfence.Tx) { tx.Run(script, nil); tx.Run(script, nil) },
		"a script and more":   func(tx *redisfence.Tx) { tx.Run(script, nil); tx.Set(k, "a") },
		"more and a script":   func(tx *redisfence.Tx) { tx.Set(k, "a"); tx.Run(script, nil) },
		"a script on a key 2": func(tx *redisfence.Tx) { tx.Run(script, []string{k, k}) },
		"a script on a mark":  func(tx *redisfence.Tx) { tx.Run(script, []string{p.mark()}) },
	} {
		err := r.Apply(t.Context(), at(t, 5, 1), do(func(tx *redisfence.Tx) {
			f(tx)
			tx.Set(k, "later")
			tx.IncrBy(k, 1)
			tx.Run(script, nil)
		}))
		if !errors.Is(err, redisfence.ErrChange) || fence.SafeToRetry(err) || len(err.Error()) > 400 {
			t.Errorf("%s: got %v, want %q", what, err, redisfence.ErrChange)
		}
	}
	if d := p.dump(t); d != "" {
		t.Fatalf("there is %s", d)
	}
}

// Every command, once or twice.
func TestCommands(t *testing.T) {
	p := fresh(t)
	r := p.open(t, nil)
	must(t, r.Apply(t.Context(), at(t, 5, 1), do(func(tx *redisfence.Tx) {
		tx.Set(p.key(":s"), "a\x00b\r\n")
		tx.SetFor(p.key(":short"), "1", time.Hour)
		tx.IncrBy(p.key(":short"), 41)
		tx.SetFor(p.key(":long"), "1", time.Hour)
		tx.Persist(p.key(":long"))
		tx.IncrBy(p.key(":n"), 9007199254740993) // 2^53 + 1
		tx.HSet(p.key(":h"), "f", "1", "g", "2", "h", "3")
		tx.HDel(p.key(":h"), "g", "h")
		tx.HIncrBy(p.key(":h"), "f", -2)
		tx.HIncrBy(p.key(":h"), "g", 7)
		tx.RPush(p.key(":l"), "b", "c", "d")
		tx.LPush(p.key(":l"), "a", "z")
		tx.LTrim(p.key(":l"), 1, -2)
		tx.SAdd(p.key(":set"), "a", "b")
		tx.SRem(p.key(":set"), "b")
		tx.ZAdd(p.key(":z"), math.Inf(1), "a")
		tx.ZAdd(p.key(":z"), 1e-300, "b")
		tx.ZRem(p.key(":z"), "a")
		tx.XAdd(p.key(":x"), "f", "v", "g", "w")
		tx.Set(p.key(":gone"), "v")
		tx.Del(p.key(":gone"), p.key(":never"))
		tx.Expire(p.key(":h"), time.Hour)
	})))
	want := []string{`:h expires map[f:-1 g:7]`, `:l [a b c]`, `:long "1"`, `:n "9007199254740993"`, `:s "a\x00b\r\n"`, `:set [a]`,
		`:short expires "42"`, `:x [map[f:v g:w]]`, `:z [{1e-300 b}]`}
	if got := p.dump(t); got != strings.Join(want, "\n")+"\n" {
		t.Fatalf("got\n%s", got)
	}
}

// A Tx that is kept reaches nothing, and an error of the change comes before what it did.
func TestKeptTx(t *testing.T) {
	p := fresh(t)
	r := p.open(t, nil)
	var kept *redisfence.Tx
	must(t, r.Apply(t.Context(), at(t, 5, 1), func(_ context.Context, tx *redisfence.Tx) error {
		kept = tx
		tx.Set(p.key(":a"), "1")
		return nil
	}))
	kept.Set(p.key(":a"), "2")
	own := errors.New("own")
	if err := r.Apply(t.Context(), at(t, 5, 2), func(_ context.Context, tx *redisfence.Tx) error {
		tx.Set("elsewhere", "2")
		return own
	}); err != own {
		t.Fatal(err)
	}
	must(t, r.Apply(t.Context(), at(t, 5, 3), do(func(*redisfence.Tx) {}))) // nothing is a change
	if p.get(t, ":a") != "1" {
		t.Fatal(p.dump(t))
	}
	marked(t, r, at(t, 5, 3))
}

// Many commands, and long ones.
func TestLargeChange(t *testing.T) {
	p := fresh(t)
	r := p.open(t, nil)
	members := make([]string, redisfence.MaxWords-3)
	for i := range members {
		members[i] = strings.Repeat("m", i%50)
	}
	must(t, r.Apply(t.Context(), at(t, 5, 1), do(func(tx *redisfence.Tx) {
		for range 3000 {
			tx.IncrBy(p.key(":n"), 1)
		}
		tx.RPush(p.key(":l"), "m", members...)
		tx.Set(p.key(":s"), strings.Repeat("x", 8<<20))
	})))
	if n, err := p.LLen(t.Context(), p.key(":l")).Result(); err != nil || n != redisfence.MaxWords-2 || p.get(t, ":n") != "3000" {
		t.Fatal(n, err)
	}
}

func TestSlots(t *testing.T) {
	p := fresh(t)
	r := p.open(t, nil)
	for _, key := range []string{"other", "", "{other}" + p.mark(), "{}" + p.mark()} {
		err := r.Apply(t.Context(), at(t, 5, 1), do(func(tx *redisfence.Tx) { tx.Set(p.key(":a"), "1"); tx.Set(key, "1") }))
		if !errors.Is(err, redisfence.ErrSlot) || fence.SafeToRetry(err) {
			t.Errorf("%q: %v", key, err)
		}
	}
	free := p.open(t, &redisfence.Options{AnySlot: true})
	other := strings.Trim(p.tag, "{}") + "/elsewhere"
	must(t, free.Apply(t.Context(), at(t, 5, 1), do(func(tx *redisfence.Tx) { tx.Set(p.key(":a"), "1"); tx.Set(other, "2") })))
	if got, err := p.Get(t.Context(), other).Result(); err != nil || got != "2" {
		t.Fatal(got, err)
	}
	plain := strings.Trim(p.tag, "{}") // the tag itself is a key of its slot
	must(t, r.Apply(t.Context(), at(t, 5, 2), do(func(tx *redisfence.Tx) { tx.Set(plain, "3") })))
}

var _ redis.UniversalClient = place{}
