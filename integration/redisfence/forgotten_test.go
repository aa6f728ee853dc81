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
	must(t, replica.SlaveOf(t.Context(), "NO", "ONE").Err()) // as Sentinel does
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
		"restored": func(t *testing.T, p place) { must(t, p.HSet(t.Context(), p.mark(), "revision", "4").Err()) },
		"one write": func(t *testing.T, p place) {
			must(t, p.HSet(t.Context(), p.mark(), "sequence", "1", "call", "other").Err())
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

// What the fence did not write is never taken for no mark.
func TestForeignMarks(t *testing.T) {
	p := fresh(t)
	r := p.open(t, nil)
	ctx := t.Context()
	fields := []any{"lock", lock, "owner", "o", "epoch", "0", "revision", "5", "sequence", "1", "rebases", "0", "call", "", "torn", ""}
	with := func(name string, value any) func() error {
		return func() error {
			if err := p.HSet(ctx, p.mark(), fields...).Err(); err != nil || value == nil {
				return errors.Join(err, p.HDel(ctx, p.mark(), name).Err())
			}
			return p.HSet(ctx, p.mark(), name, value).Err()
		}
	}
	for name, put := range map[string]func() error{
		"a string":        func() error { return p.Set(ctx, p.mark(), "x", 0).Err() },
		"a list":          func() error { return p.RPush(ctx, p.mark(), "x").Err() },
		"another hash":    func() error { return p.HSet(ctx, p.mark(), "x", "y").Err() },
		"no lock":         with("lock", nil),
		"no owner":        with("owner", nil),
		"no call":         with("call", nil),
		"no torn":         with("torn", nil),
		"no epoch":        with("epoch", nil),
		"no revision":     with("revision", nil),
		"no sequence":     with("sequence", nil),
		"no rebases":      with("rebases", nil),
		"an empty owner":  with("owner", ""),
		"an empty lock":   with("lock", ""),
		"negative":        with("revision", "-5"),
		"zero":            with("revision", "0"),
		"padded":          with("revision", "05"),
		"a fraction":      with("sequence", "1.5"),
		"exponent":        with("sequence", "1e3"),
		"hexadecimal":     with("sequence", "0x10"),
		"empty":           with("epoch", ""),
		"space":           with("epoch", "1 "),
		"20 digits":       with("revision", "10000000000000000000"),
		"over 64 bits":    with("revision", "9999999999999999999"),
		"a wide sequence": with("sequence", "9223372036854775808"),
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
