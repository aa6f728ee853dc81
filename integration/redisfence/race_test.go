package redisfence_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/redisfence"
)

// T12: shuffled stamps and duplicates from many parties. What was accepted rises strictly.
func TestShuffledStamps(t *testing.T) {
	for round := range 10 {
		p := fresh(t)
		var stamps []fence.Stamp
		for revision := range int64(20) {
			for sequence := range int64(5) {
				stamps = append(stamps, at(t, revision+1, sequence), at(t, revision+1, sequence))
			}
		}
		rand.Shuffle(len(stamps), func(i, j int) { stamps[i], stamps[j] = stamps[j], stamps[i] })
		var all sync.WaitGroup
		for party := range 8 {
			r := p.open(t, nil)
			all.Go(func() {
				for i := party; i < len(stamps); i += 8 {
					err := r.Apply(t.Context(), stamps[i], do(func(tx *redisfence.Tx) {
						tx.RPush(p.key(":log"), fmt.Sprintf("%d %d", stamps[i].Token().Revision(), stamps[i].Sequence()))
					}))
					if err != nil && !errors.Is(err, fence.ErrStale) && !errors.Is(err, fence.ErrReplayed) {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		log, err := p.LRange(t.Context(), p.key(":log"), 0, -1).Result()
		must(t, err)
		var last fence.Stamp
		for _, line := range log {
			var revision, sequence int64
			_, err := fmt.Sscan(line, &revision, &sequence)
			must(t, err)
			s := at(t, revision, sequence)
			if s.Compare(last) <= 0 {
				t.Fatalf("round %d: %v was accepted after %v", round, s, last)
			}
			last = s
		}
		marked(t, p.open(t, nil), at(t, 20, 4))
	}
}

// T19: overlapping holders read a counter, add one and write it. With a claim before the
// read every accepted increment is there; without, some are lost.
func TestReadModifyWrite(t *testing.T) {
	run := func(t *testing.T, claim bool) (accepted, counter int) {
		p := fresh(t)
		var mu sync.Mutex
		next := int64(0)
		var all sync.WaitGroup
		for range 6 {
			r := p.open(t, nil)
			all.Go(func() {
				for range 60 {
					mu.Lock()
					next++
					s := at(t, next, 1)
					mu.Unlock()
					if claim {
						if err := r.Claim(t.Context(), s.Token()); errors.Is(err, fence.ErrStale) {
							continue
						} else if err != nil {
							t.Error(err)
						}
					}
					err := r.Apply(t.Context(), s, func(ctx context.Context, tx *redisfence.Tx) error {
						text, err := p.Get(ctx, p.key(":n")).Result()
						if err != nil && !errors.Is(err, redis.Nil) {
							return err
						}
						n, _ := strconv.Atoi(text) // 0 before the first
						tx.Set(p.key(":n"), strconv.Itoa(n+1))
						return nil
					})
					switch {
					case err == nil:
						mu.Lock()
						accepted++
						mu.Unlock()
					case !errors.Is(err, fence.ErrStale):
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		counter, err := strconv.Atoi(p.get(t, ":n"))
		must(t, err)
		return accepted, counter
	}
	t.Run("with a claim", func(t *testing.T) {
		accepted, counter := run(t, true)
		if t.Logf("accepted %d, counter %d", accepted, counter); accepted != counter {
			t.Fatalf("%d increments were accepted, and the counter is %d", accepted, counter)
		}
	})
	t.Run("without", func(t *testing.T) {
		for range 20 { // luck is needed to see it, not much
			accepted, counter := run(t, false)
			if t.Logf("accepted %d, counter %d", accepted, counter); accepted != counter {
				return
			}
		}
		t.Fatal("no update was lost without a claim; is the claim of use?")
	})
}

// T21: parallel writers of one hold.
func TestAnyOrderWriters(t *testing.T) {
	p := fresh(t)
	must(t, p.open(t, nil).Claim(t.Context(), at(t, 5, 0).Token()))
	var all sync.WaitGroup
	const writers, each = 8, 25
	for w := range writers {
		r := p.open(t, &redisfence.Options{AnyOrder: true})
		all.Go(func() {
			for i := range each {
				if err := r.Apply(t.Context(), at(t, 5, int64(w*each+i+1)), add(p)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if p.get(t, ":n") != fmt.Sprint(writers*each) {
		t.Fatal(p.get(t, ":n"))
	}
	marked(t, p.open(t, nil), at(t, 5, writers*each))
}

// Every call is one round trip, also one that is refused.
func TestRoundTrips(t *testing.T) {
	p := fresh(t)
	r := p.open(t, nil)
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token())) // the script is there now
	n := 0
	p.AddHook(onProcess(func(string) { n++ }))
	for what, f := range map[string]func() error{
		"a claim":       func() error { return r.Claim(t.Context(), at(t, 5, 0).Token()) },
		"a write":       func() error { return r.Apply(t.Context(), at(t, 5, 1), add(p)) },
		"a stale write": func() error { return r.Apply(t.Context(), at(t, 4, 1), add(p)) },
		"the mark":      func() error { _, err := r.Mark(t.Context(), lock); return err },
	} {
		n = 0
		if err := f(); err != nil && !errors.Is(err, fence.ErrStale) || n != 1 {
			t.Errorf("%s: %d commands, %v", what, n, err)
		}
	}
}

// Of the operations the newest are kept.
func TestOperationsAreBounded(t *testing.T) {
	p := fresh(t)
	r := p.open(t, &redisfence.Options{Operations: 2})
	sequence := int64(0)
	operate := func(r *redisfence.Resource, id string) error {
		sequence++
		return r.Apply(fence.WithOperation(t.Context(), id), at(t, 5, sequence), add(p))
	}
	for _, id := range []string{"a", "b", "c"} {
		must(t, operate(r, id))
	}
	mustBe(t, operate(r, "b"), fence.ErrDuplicate)
	mustBe(t, operate(r, "c"), fence.ErrDuplicate)
	must(t, operate(r, "a")) // forgotten, as documented
	mustBe(t, operate(r, "c"), fence.ErrDuplicate)
	must(t, operate(r, "b"))
	more := p.open(t, &redisfence.Options{Operations: 4})
	must(t, operate(more, "d"))
	must(t, operate(more, "e"))
	must(t, operate(p.open(t, &redisfence.Options{Operations: 1}), "f"))
	for _, id := range []string{"a", "b", "d", "e"} {
		must(t, operate(more, id))
	}
	for key, want := range map[string]int64{":operations": 4, ":order": 4} {
		n, err := p.Eval(t.Context(), "return redis.call(ARGV[1], KEYS[1])", []string{p.mark() + key},
			map[string]string{":operations": "HLEN", ":order": "LLEN"}[key]).Int64()
		if err != nil || n != want {
			t.Errorf("%s has %d, %v", key, n, err)
		}
	}
}
