package redisfence_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/redisfence"
)

var withdraw = redisfence.NewScript(`
	local rest = tonumber(redis.call('GET', KEYS[1]) or '0') - tonumber(ARGV[1])
	if rest < 0 then
		return redis.error_reply('POOR there is not enough')
	end
	redis.call('DECRBY', KEYS[1], ARGV[1])
	redis.call('RPUSH', KEYS[2], ARGV[1]) -- the last line may be a comment`)

func TestScript(t *testing.T) {
	p := fresh(t)
	r := p.open(t, nil)
	must(t, r.Apply(t.Context(), at(t, 5, 1), p.set(":money", "100")))
	take := do(func(tx *redisfence.Tx) { tx.Run(withdraw, []string{p.key(":money"), p.key(":log")}, "60") })
	must(t, r.Apply(t.Context(), at(t, 5, 2), take))
	err := r.Apply(t.Context(), at(t, 5, 3), take)
	var own redis.Error
	if !errors.As(err, &own) || !strings.HasPrefix(own.Error(), "POOR ") || fence.SafeToRetry(err) {
		t.Fatalf("got %v, want the script's own error", err)
	}
	marked(t, r, at(t, 5, 2))
	mustBe(t, r.Apply(t.Context(), at(t, 4, 9), take), fence.ErrStale)
	must(t, r.Apply(t.Context(), at(t, 5, 3), p.set(":money", "60"))) // not consumed
	must(t, r.Apply(fence.WithOperation(t.Context(), "pay"), at(t, 5, 4), take))
	mustBe(t, r.Apply(fence.WithOperation(t.Context(), "pay"), at(t, 5, 5), take), fence.ErrDuplicate)
	if d := p.dump(t); d != ":log [60 60]\n:money \"0\"\n" {
		t.Fatal(d)
	}
}

// A Script that fails before it has written leaves all as it was, however it fails.
func TestScriptThatWritesNothing(t *testing.T) {
	p := fresh(t)
	r := p.open(t, nil)
	must(t, r.Apply(t.Context(), at(t, 5, 1), p.set(":text", "text")))
	for _, text := range []string{
		`redis.call('LPUSH', KEYS[1], 'x')`,                                   // fails
		`redis.call('GET', KEYS[1]); redis.call('get', KEYS[1]); error('no')`, // reads
		`redis.pcall('LPUSH', KEYS[1], 'x'); error({err = 'no'})`,             // fails unnoticed
		`return redis.pcall('LPUSH', KEYS[1], 'x')`,                           // tells it
		`return {err = 'no'}`,                                                 // says so
		`return redis.error_reply('no')`,                                      // says so
		`local x = nothing.there`,                                             // is wrong
		`error()`,                                                             // says nothing
		`redis.call('NOSUCH', KEYS[1])`,                                       // is no command
		`redis.call()`,                                                        // nor is this
		`this is no Lua`,                                                      // is not compiled
		`end end`,                                                             // nor this
		`local a <const> = 1`,                                                 // nor this, in Redis
		`redis.call('TYPE', KEYS[1]); local s = KEYS[2] .. 'x'`,               // a key that was not given
		`redis.setresp(3); redis.call('HGETALL', KEYS[1])`,                    // fails
		`for i = 1, 3 do redis.call('STRLEN', KEYS[1]) end; return {err = 'ERR after'}`, // reads more
	} {
		err := r.Apply(t.Context(), at(t, 5, 2), do(func(tx *redisfence.Tx) {
			tx.Run(redisfence.NewScript(text), []string{p.key(":text")})
		}))
		if err == nil || fence.SafeToRetry(err) || errors.Is(err, redisfence.ErrTorn) {
			t.Errorf("%s: %v", text, err)
		}
		t.Log(err)
		marked(t, r, at(t, 5, 1))
	}
	if d := p.dump(t); d != ":text \"text\"\n" {
		t.Fatal(d)
	}
	must(t, r.Apply(t.Context(), at(t, 5, 2), p.set(":text", "")))
}

// One that fails later has written half of it. That is told, and nothing older gets in.
func TestTornScript(t *testing.T) {
	p := fresh(t)
	r := p.open(t, nil)
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	for i, text := range []string{
		`redis.call('SET', KEYS[1], 'half'); redis.call('LPUSH', KEYS[1], 'x')`,
		`redis.call('set', KEYS[1], 'half'); error('no')`,
		`redis.pcall('SET', KEYS[1], 'half'); return {err = 'no'}`,
	} {
		s := at(t, 5, int64(i+1))
		err := r.Apply(t.Context(), s, do(func(tx *redisfence.Tx) {
			tx.Run(redisfence.NewScript(text), []string{p.key(":a")})
		}))
		if !errors.Is(err, redisfence.ErrTorn) || fence.SafeToRetry(err) {
			t.Errorf("%s: %v", text, err)
		}
		marked(t, r, s)
		mustBe(t, r.Apply(t.Context(), s, p.set(":a", "again")), redisfence.ErrTorn) // also to who has lost the answer
		if p.get(t, ":a") != "half" {
			t.Error(p.dump(t))
		}
	}
	mustBe(t, r.Apply(t.Context(), at(t, 5, 2), p.set(":a", "again")), fence.ErrReplayed)
	must(t, r.Apply(t.Context(), at(t, 5, 4), p.set(":a", "repaired")))
	mustBe(t, r.Apply(t.Context(), at(t, 5, 4), p.set(":a", "again")), fence.ErrReplayed)
}

// Who loses the answer of a torn one is not told that it is done.
func TestLostReplyOfATornOne(t *testing.T) {
	p, _, proxy := lossy(t)
	tear := do(func(tx *redisfence.Tx) {
		tx.Run(redisfence.NewScript(`redis.call('SET', KEYS[1], 'half'); error('no')`), []string{p.key(":a")})
	})
	for i, attempts := range []int{1, 2} {
		r, s := p.open(t, &redisfence.Options{Attempts: attempts}), at(t, 5, int64(i+1))
		proxy.Lose(1, "evalsha", "eval")
		err := r.Apply(t.Context(), s, tear)
		if attempts == 1 {
			mustBe(t, err, fence.ErrUnknownOutcome)
			err = r.Apply(t.Context(), s, tear)
		}
		mustBe(t, err, redisfence.ErrTorn)
	}
}

// What a Script does to names that the fence uses reaches nothing of it.
func TestScriptIsApart(t *testing.T) {
	p := fresh(t)
	r := p.open(t, nil)
	text := `KEYS[1] = 'x'; ARGV[1] = 'y'; redis = nil; compare = 1; mark = {}; return 'refused'`
	err := r.Apply(t.Context(), at(t, 5, 1), do(func(tx *redisfence.Tx) {
		tx.Run(redisfence.NewScript(text), []string{p.key(":a")}, "1")
	}))
	if err == nil { // globals are not to be had
		t.Error("a global was made")
	}
	text = `KEYS[1] = 'x'; ARGV[1] = 'y'; redis = nil; local compare, mark = 1, {}; return 'refused'`
	must(t, r.Apply(t.Context(), at(t, 5, 1), do(func(tx *redisfence.Tx) {
		tx.Run(redisfence.NewScript(text), []string{p.key(":a")}, "1")
	})))
	marked(t, r, at(t, 5, 1))
}
