package redisfence_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/redisfence"
	"github.com/etcdfence/etcdfence/integration/redistest"
)

// lossy is a place behind a proxy that can lose answers; the client beside it cannot.
func lossy(t *testing.T) (p, direct place, proxy *redistest.Proxy) {
	t.Helper()
	direct = fresh(t)
	proxy = redistest.NewProxy(t, redistest.Shared(t))
	return place{proxy.Client(t), direct.tag}, direct, proxy
}

func add(p place) change { return do(func(tx *redisfence.Tx) { tx.IncrBy(p.key(":n"), 1) }) }

// T20: the answer to a write that was applied is lost, and the write is sent again. It
// succeeds once, and was applied once.
func TestLostReply(t *testing.T) {
	p, _, proxy := lossy(t)
	r := p.open(t, nil)
	proxy.Lose(1, "evalsha", "eval")
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	proxy.Lose(2, "evalsha", "eval") // the answer to the repeat, too
	must(t, r.Apply(t.Context(), at(t, 5, 1), add(p)))
	proxy.Lose(1, "evalsha", "eval")
	must(t, r.Apply(fence.WithOperation(t.Context(), "pay"), at(t, 5, 2), add(p)))
	proxy.Lose(1, "evalsha", "eval")
	must(t, r.Rebase(t.Context(), at(t, 5, 2), at(t, 4, 0)))
	if p.get(t, ":n") != "2" || proxy.Lost() != 5 {
		t.Fatalf("n is %s, %d answers were lost", p.get(t, ":n"), proxy.Lost())
	}
	marked(t, r, at(t, 4, 0))
	mustBe(t, r.Apply(t.Context(), at(t, 4, 0), add(p)), fence.ErrReplayed) // on a first sending
}

// Without an answer at all nobody knows, and the same stamp tells.
func TestUnknownOutcome(t *testing.T) {
	p, _, proxy := lossy(t)
	r := p.open(t, &redisfence.Options{Attempts: 2})
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	proxy.Lose(2, "evalsha")
	err := r.Apply(t.Context(), at(t, 5, 1), add(p))
	mustBe(t, err, fence.ErrUnknownOutcome)
	if !fence.SafeToRetry(err) {
		t.Error("it is safe to retry")
	}
	err = r.Apply(t.Context(), at(t, 5, 1), add(p))
	var refused *fence.RefusedError
	if !errors.Is(err, fence.ErrReplayed) || !errors.As(err, &refused) || refused.Mark != at(t, 5, 1) || fence.SafeToRetry(err) {
		t.Fatal(err)
	}
	if p.get(t, ":n") != "1" {
		t.Fatal(p.get(t, ":n"))
	}
}

// Between a lost answer and the repeat a newer holder comes: the refusal of the repeat must
// not say that nothing was changed.
func TestLostReplyThenOvertaken(t *testing.T) {
	p, direct, proxy := lossy(t)
	r := p.open(t, nil)
	other := direct.open(t, nil)
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	sent := 0
	p.AddHook(onProcess(func(name string) {
		if name != "evalsha" {
			return
		}
		if sent++; sent == 2 {
			must(t, other.Claim(t.Context(), at(t, 6, 0).Token()))
		}
	}))
	proxy.Lose(1, "evalsha")
	err := r.Apply(t.Context(), at(t, 5, 1), add(p))
	mustBe(t, err, fence.ErrUnknownOutcome, fence.ErrStale)
	if fence.SafeToRetry(err) || p.get(t, ":n") != "1" || sent != 2 {
		t.Fatalf("%v; n is %s, sent %d times", err, p.get(t, ":n"), sent)
	}
	mustBe(t, r.Apply(t.Context(), at(t, 5, 2), add(p)), fence.ErrStale)
}

// In any order too an operation is done once, though others have written since.
func TestLostReplyInAnyOrder(t *testing.T) {
	p, direct, proxy := lossy(t)
	r := p.open(t, &redisfence.Options{AnyOrder: true})
	other := direct.open(t, &redisfence.Options{AnyOrder: true})
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	sent := 0
	p.AddHook(onProcess(func(name string) {
		if name != "evalsha" {
			return
		}
		if sent++; sent == 2 {
			must(t, other.Apply(t.Context(), at(t, 5, 2), add(p)))
		}
	}))
	proxy.Lose(1, "evalsha")
	must(t, r.Apply(fence.WithOperation(t.Context(), "pay"), at(t, 5, 1), add(p)))
	if p.get(t, ":n") != "2" {
		t.Fatal(p.get(t, ":n"))
	}
}

// onProcess is a hook that is called before each command.
type onProcess func(name string)

func (h onProcess) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h onProcess) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h(cmd.Name())
		return next(ctx, cmd)
	}
}
func (h onProcess) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// T20 for the adapter: Bound sends the same stamp again, and it was applied once.
func TestLostReplyThroughBound(t *testing.T) {
	p, _, proxy := lossy(t)
	r := p.open(t, &redisfence.Options{Attempts: 1})
	a, err := etcdfence.New(etcdtest.Start(t).NewClient(t), nil)
	must(t, err)
	t.Cleanup(func() { must(t, a.Close()) })
	must(t, etcdfence.Do(t.Context(), a, lock, r, func(ctx context.Context, w *etcdfence.Bound[*redisfence.Tx]) error {
		for range 3 {
			proxy.Lose(1, "evalsha")
			if err := w.Apply(ctx, add(p)); err != nil {
				return err
			}
		}
		return nil
	}))
	if p.get(t, ":n") != "3" || proxy.Lost() != 3 {
		t.Fatalf("n is %s after 3 increments, %d answers were lost", p.get(t, ":n"), proxy.Lost())
	}
}

// A script that Redis has forgotten is sent with its text, once.
func TestForgottenScript(t *testing.T) {
	server := redistest.Start(t)
	p := place{server.Client(t), "{t}"}
	r := p.open(t, nil)
	var names []string
	p.AddHook(onProcess(func(name string) {
		if strings.HasPrefix(name, "eval") {
			names = append(names, name)
		}
	}))
	must(t, r.Apply(t.Context(), at(t, 5, 1), add(p)))
	must(t, r.Apply(t.Context(), at(t, 5, 2), add(p)))
	must(t, server.KillAndRestart())
	must(t, p.ScriptFlush(t.Context()).Err())
	must(t, r.Apply(t.Context(), at(t, 5, 3), add(p)))
	if got := strings.Join(names, " "); got != "evalsha eval evalsha evalsha eval" || p.get(t, ":n") != "3" {
		t.Fatalf("sent %s; n is %s", got, p.get(t, ":n"))
	}
}
