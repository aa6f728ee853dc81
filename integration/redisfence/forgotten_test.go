package redisfence_test

import (
	"errors"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/redisfence"
	"github.com/etcdfence/etcdfence/integration/redistest"
)

// The limit that the documentation names: a replica that is promoted does not have what
// the master answered last, and takes an older stamp. Who has seen the newer one is told.
func TestFailoverLosesMarks(t *testing.T) {
	master := redistest.StartAtPort(t)
	p := place{master.Client(t), "{t}"}
	a, b := p.open(t, nil), p.open(t, nil) // of two processes
	must(t, a.Claim(t.Context(), at(t, 5, 0).Token()))
	must(t, a.Apply(t.Context(), at(t, 5, 1), p.set(":a", "five")))
	server := redistest.StartReplica(t, master)
	server.Freeze(t) // it lags, and nothing is on its way to it
	must(t, p.ClientKillByFilter(t.Context(), "type", "replica").Err())
	must(t, b.Claim(t.Context(), at(t, 6, 0).Token()))
	must(t, b.Apply(t.Context(), at(t, 6, 1), p.set(":a", "six")))
	mustBe(t, a.Apply(t.Context(), at(t, 5, 2), p.set(":a", "late")), fence.ErrStale)
	master.Kill(t)
	server.Thaw(t)

	replica := place{server.Client(t), "{t}"}
	must(t, replica.ReplicaOf(t.Context(), "NO", "ONE").Err()) // as Sentinel does
	must(t, replica.open(t, nil).Apply(t.Context(), at(t, 5, 2), replica.set(":a", "late")))
	if got := replica.get(t, ":a"); got != "late" {
		t.Fatalf("the promoted replica has %q; if it had refused, the documentation says too little", got)
	}
}

// Whatever takes the mark away, the hold that wrote what is gone is told so, and changes
// nothing. A newer one begins anew.
func TestWentBack(t *testing.T) {
	for name, forget := range map[string]func(t *testing.T, p place){
		"deleted":  func(t *testing.T, p place) { must(t, p.Del(t.Context(), p.mark()).Err()) },
		"renamed":  func(t *testing.T, p place) { must(t, p.Rename(t.Context(), p.mark(), p.key(":x")).Err()) },
		"restored": func(t *testing.T, p place) { p.putMark(t, "0 4 2") },
		"one write": func(t *testing.T, p place) {
			p.putMark(t, "0 5 1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := fresh(t)
			r, other := p.open(t, nil), p.open(t, nil)
			must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
			must(t, r.Apply(t.Context(), at(t, 5, 1), p.set(":a", "one")))
			must(t, r.Apply(t.Context(), at(t, 5, 2), p.set(":a", "two")))
			must(t, other.Claim(t.Context(), at(t, 5, 0).Token())) // sees it as well
			forget(t, p)
			for _, err := range []error{
				r.Apply(t.Context(), at(t, 5, 3), p.set(":a", "three")),
				r.Apply(t.Context(), at(t, 5, 2), p.set(":a", "two")),
				r.Apply(t.Context(), at(t, 4, 9), p.set(":a", "old")),
				r.Claim(t.Context(), at(t, 5, 0).Token()),
				other.Apply(t.Context(), at(t, 5, 3), p.set(":a", "three")),
			} {
				if !errors.Is(err, redisfence.ErrWentBack) || fence.SafeToRetry(err) {
					t.Errorf("got %v, want %q", err, redisfence.ErrWentBack)
				}
			}
			if p.get(t, ":a") != "two" {
				t.Error(p.dump(t))
			}
			must(t, r.Claim(t.Context(), at(t, 6, 0).Token())) // has read nothing yet
			must(t, r.Apply(t.Context(), at(t, 6, 1), p.set(":a", "six")))
			mustBe(t, other.Apply(t.Context(), at(t, 5, 3), p.set(":a", "three")), fence.ErrStale)
		})
	}
}

// A rebase lowers the mark, and nobody takes that for a loss, wherever it was made.
func TestRebaseIsNoLoss(t *testing.T) {
	p := fresh(t)
	r, operator := p.open(t, nil), p.open(t, nil)
	must(t, r.Apply(t.Context(), at(t, 900, 1), p.set(":a", "one")))
	must(t, operator.Rebase(t.Context(), at(t, 900, 1), at(t, 5, 0)))
	must(t, r.Apply(t.Context(), at(t, 5, 1), p.set(":a", "two")))
	must(t, operator.Apply(t.Context(), at(t, 5, 2), p.set(":a", "three")))
	must(t, p.Del(t.Context(), p.mark()).Err()) // and a loss is one all the same
	mustBe(t, r.Apply(t.Context(), at(t, 5, 3), p.set(":a", "four")), redisfence.ErrWentBack)
	must(t, r.Rebase(t.Context(), fence.Stamp{}, at(t, 5, 0)))
	must(t, r.Apply(t.Context(), at(t, 5, 3), p.set(":a", "four")))
}

// A mark with an end is given back its life with the next write.
func TestMarkDoesNotExpire(t *testing.T) {
	p := fresh(t)
	r := p.open(t, nil)
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	must(t, p.PExpire(t.Context(), p.mark(), 1e15).Err())
	must(t, r.Apply(t.Context(), at(t, 5, 1), p.set(":a", "one")))
	if ttl, err := p.TTL(t.Context(), p.mark()).Result(); err != nil || ttl != -1 {
		t.Fatal(ttl, err)
	}
}

func TestEviction(t *testing.T) {
	for policy, want := range map[string]error{"allkeys-lru": redisfence.ErrEvicts, "allkeys-random": redisfence.ErrEvicts,
		"volatile-lru": nil, "noeviction": nil} {
		server := redistest.Start(t, redistest.WithSetting("maxmemory", "100mb"), redistest.WithSetting("maxmemory-policy", policy))
		_, err := redisfence.Open(t.Context(), server.Client(t), "{t}:fence", lock, nil)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", policy, err)
		}
		if _, err = redisfence.Open(t.Context(), server.Client(t), "{t}:fence", lock, &redisfence.Options{NoCheck: true}); err != nil {
			t.Error(err)
		}
	}
}

// putMark writes a mark by hand: epoch, revision and sequence.
func (p place) putMark(t *testing.T, numbers string) {
	t.Helper()
	must(t, p.Set(t.Context(), p.mark(), "etcdfence 1\n"+numbers+"\nholder\n"+lock+"\n0\nother\n", 0).Err())
}

// What the fence did not write is never taken for no mark.
func TestForeignMarks(t *testing.T) {
	p := fresh(t)
	r := p.open(t, nil)
	ctx := t.Context()
	text := func(text string) func() error { return func() error { return p.Set(ctx, p.mark(), text, 0).Err() } }
	with := func(numbers string) func() error { return text("etcdfence 1\n" + numbers + "\no\n" + lock + "\n0\n\n") }
	for name, put := range map[string]func() error{
		"a hash":          func() error { return p.HSet(ctx, p.mark(), "x", "y").Err() },
		"a list":          func() error { return p.RPush(ctx, p.mark(), "x").Err() },
		"nothing":         text(""),
		"another text":    text("x"),
		"another form":    text("etcdfence 2\n0 5 1\no\n" + lock + "\n0\n\n"),
		"no owner":        text("etcdfence 1\n0 5 1\n\n" + lock + "\n0\n\n"),
		"no lock":         text("etcdfence 1\n0 5 1\no\n\n0\n\n"),
		"a line too few":  text("etcdfence 1\n0 5 1\no\n" + lock + "\n0\n"),
		"a line too many": text("etcdfence 1\n0 5 1\no\n" + lock + "\n0\n\n\n"),
		"two numbers":     with("0 5"),
		"four numbers":    with("0 5 1 0"),
		"bad rebases":     text("etcdfence 1\n0 5 1\no\n" + lock + "\n00\n\n"),
		"negative":        with("0 -5 1"),
		"zero":            with("0 0 1"),
		"padded":          with("0 05 1"),
		"padded zero":     with("00 5 1"),
		"a fraction":      with("0 5 1.5"),
		"exponent":        with("0 5 1e3"),
		"hexadecimal":     with("0 5 0x10"),
		"two spaces":      with("0  5 1"),
		"20 digits":       with("0 10000000000000000000 1"),
		"over 64 bits":    with("0 9999999999999999999 1"),
		"a wide sequence": with("0 5 9223372036854775808"),
		"a wide epoch":    with("9223372036854775808 5 1"),
	} {
		must(t, p.Del(ctx, p.mark()).Err())
		must(t, put())
		before, err := p.Dump(ctx, p.mark()).Result()
		must(t, err)
		_, merr := r.Mark(ctx, lock)
		for what, err := range map[string]error{
			"Apply":  r.Apply(ctx, at(t, 6, 1), p.set(":a", "x")),
			"Claim":  r.Claim(ctx, at(t, 6, 0).Token()),
			"Rebase": r.Rebase(ctx, fence.Stamp{}, at(t, 6, 0)),
			"Mark":   merr,
		} {
			if !errors.Is(err, redisfence.ErrForeign) || fence.SafeToRetry(err) || len(err.Error()) > 500 {
				t.Errorf("%s, %s: got %v, want %q", name, what, err, redisfence.ErrForeign)
			}
		}
		if after, err := p.Dump(ctx, p.mark()).Result(); err != nil || after != before {
			t.Errorf("%s: it was changed, or %v", name, err)
		}
	}
	if d := p.dump(t); d != "" {
		t.Error(d)
	}
	must(t, p.Del(ctx, p.mark()).Err())
	for _, beside := range []string{":operations", ":order"} {
		must(t, p.Set(ctx, p.mark()+beside, "x", 0).Err())
		mustBe(t, r.Apply(fence.WithOperation(ctx, "pay"), at(t, 6, 1), p.set(":a", "x")), redisfence.ErrForeign)
		must(t, p.Del(ctx, p.mark()+beside).Err())
	}
	must(t, p.HSet(ctx, p.mark()+":operations", "pay", "damaged").Err())
	mustBe(t, r.Apply(fence.WithOperation(ctx, "pay"), at(t, 6, 1), p.set(":a", "x")), redisfence.ErrForeign)
}
