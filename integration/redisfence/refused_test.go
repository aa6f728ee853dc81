package redisfence_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/redisfence"
	"github.com/etcdfence/etcdfence/integration/redistest"
)

// refuses tries everything that writes, and looks that nothing of it was applied.
func refuses(t *testing.T, p, direct place, r *redisfence.Resource, want error) {
	t.Helper()
	before := direct.dump(t)
	mark, err := direct.Get(t.Context(), p.mark()).Result()
	must(t, err)
	for name, call := range map[string]func() error{
		"Apply": func() error {
			return r.Apply(t.Context(), at(t, 7, 1), do(func(tx *redisfence.Tx) {
				tx.Set(p.key(":a"), strings.Repeat("x", 100))
				tx.RPush(p.key(":b"), "x")
			}))
		},
		"an operation": func() error {
			return r.Apply(fence.WithOperation(t.Context(), "pay"), at(t, 7, 1), p.set(":a", "x"))
		},
		"a script": func() error {
			return r.Apply(t.Context(), at(t, 7, 1), do(func(tx *redisfence.Tx) {
				tx.Run(redisfence.NewScript(`redis.call('SET', KEYS[1], 'x'); redis.call('RPUSH', KEYS[2], 'x')`),
					[]string{p.key(":a"), p.key(":b")})
			}))
		},
		"Claim":  func() error { return r.Claim(t.Context(), at(t, 7, 0).Token()) },
		"Rebase": func() error { return r.Rebase(t.Context(), at(t, 5, 1), at(t, 4, 0)) },
	} {
		err := call()
		if redis.HasErrorPrefix(err, want.Error()) { // an answer without a kind
			err = fmt.Errorf("%w: %w", want, err)
		}
		if !errors.Is(err, want) || fence.SafeToRetry(err) != errors.Is(want, fence.ErrContended) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	after, err := direct.Get(t.Context(), p.mark()).Result()
	must(t, err)
	if d := direct.dump(t); d != before || after != mark {
		t.Errorf("there is now\n%s and %q, and was\n%s and %q", d, after, before, mark)
	}
}

// started is a server of one's own with a mark.
func started(t *testing.T, opts ...redistest.Option) (place, *redisfence.Resource) {
	t.Helper()
	p := place{redistest.Start(t, opts...).Client(t), "{t}"}
	r := p.open(t, nil)
	must(t, r.Apply(t.Context(), at(t, 5, 1), p.set(":a", "one")))
	return p, r
}

// Over its maxmemory Redis refuses the first command that needs some, and lets pass what
// comes behind one that it took. Deletions pass.
func TestOutOfMemory(t *testing.T) {
	p, r := started(t)
	must(t, p.ConfigSet(t.Context(), "maxmemory", "1").Err())
	refuses(t, p, p, r, redisfence.ErrFull)
	must(t, r.Apply(t.Context(), at(t, 5, 2), do(func(tx *redisfence.Tx) { tx.Del(p.key(":a")) })))
	marked(t, r, at(t, 5, 2))
	mustBe(t, r.Apply(t.Context(), at(t, 5, 1), p.set(":a", "one")), fence.ErrReplayed)
	must(t, p.ConfigSet(t.Context(), "maxmemory", "0").Err())
	must(t, r.Apply(t.Context(), at(t, 5, 3), p.set(":a", "three")))
}

func TestReadOnlyReplica(t *testing.T) {
	master := redistest.StartAtPort(t)
	p := place{master.Client(t), "{t}"}
	must(t, p.open(t, nil).Apply(t.Context(), at(t, 5, 1), p.set(":a", "one")))
	replica := place{redistest.StartReplica(t, master).Client(t), "{t}"}
	refuses(t, replica, replica, replica.open(t, nil), fence.ErrContended)
}

func TestTooFewReplicas(t *testing.T) {
	p, r := started(t)
	must(t, p.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	refuses(t, p, p, r, fence.ErrContended)
}

// A snapshot has failed, and Redis takes no writes until one succeeds.
func TestDiskError(t *testing.T) {
	server := redistest.Start(t)
	p := place{server.Client(t), "{t}"}
	r := p.open(t, nil)
	must(t, r.Apply(t.Context(), at(t, 5, 1), p.set(":a", "one")))
	must(t, p.ConfigSet(t.Context(), "save", "3600 1000000").Err())
	t.Cleanup(func() { must(t, p.ConfigSet(context.Background(), "save", "").Err()) }) // or it does not end
	must(t, os.RemoveAll(filepath.Join(server.Dir(), "data")))
	must(t, p.BgSave(t.Context()).Err())
	for status := ""; !strings.Contains(status, "rdb_last_bgsave_status:err"); {
		var err error
		status, err = p.Info(t.Context(), "persistence").Result()
		must(t, err)
	}
	refuses(t, p, p, r, errors.New("MISCONF"))
}

// A user that lacks one of the permissions, of whichever command, changes nothing.
func TestPermissions(t *testing.T) {
	server := redistest.Start(t)
	admin := place{server.Client(t), "{t}"}
	must(t, admin.open(t, nil).Apply(t.Context(), at(t, 5, 1), admin.set(":a", "one")))
	const fences = "evalsha eval get set type hget hset hdel rpush lpop llen"
	as := func(rules ...any) place {
		must(t, admin.Do(t.Context(), append([]any{"acl", "setuser", "service", "reset", "on", ">pw"}, rules...)...).Err())
		opts := server.Options()
		opts.Username, opts.Password = "service", "pw"
		client := redis.NewClient(opts)
		t.Cleanup(func() { must(t, client.Close()) })
		return place{client, "{t}"}
	}
	grant := func(commands string, more ...any) []any {
		for _, c := range strings.Fields(commands) {
			more = append(more, "+"+c)
		}
		return more
	}
	noCheck := &redisfence.Options{NoCheck: true, Attempts: 1}

	p := as(grant(fences+" info incrby", "~*")...)
	r := p.open(t, nil) // as documented
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	for i := range int64(3) {
		must(t, r.Apply(fence.WithOperation(t.Context(), at(t, 5, 2+i).String()), at(t, 5, 2+i), p.set(":a", "two")))
	}
	must(t, r.Rebase(t.Context(), at(t, 5, 4), at(t, 5, 1)))

	for name, rules := range map[string][]any{
		"nothing at all":      {},
		"no script":           grant(strings.ReplaceAll(fences, "evalsha", "")+" rpush", "~*"),
		"no second command":   grant(strings.ReplaceAll(fences, "rpush", ""), "~*"),
		"no write of a mark":  grant(strings.ReplaceAll(fences, " set ", " "), "~*"),
		"no read of a mark":   grant(strings.ReplaceAll(fences, " get", ""), "~*"),
		"no key of the data":  grant(fences, "~{t}:fence*"),
		"no key of the mark":  grant(fences, "~{t}:a", "~{t}:b"),
		"a mark that is read": grant(fences, "~{t}:a", "~{t}:b", "%R~{t}:fence*"),
		"data that are read":  grant(fences, "%R~{t}:a", "%R~{t}:b", "~{t}:fence*"),
	} {
		t.Run(name, func(t *testing.T) {
			p := as(rules...)
			r := p.open(t, noCheck)
			before := admin.dump(t)
			err := r.Apply(fence.WithOperation(t.Context(), "pay"), at(t, 7, 1), do(func(tx *redisfence.Tx) {
				tx.Set(p.key(":a"), "half")
				tx.RPush(p.key(":b"), "x")
			}))
			if !errors.Is(err, redisfence.ErrDenied) || fence.SafeToRetry(err) {
				t.Errorf("got %v, want %q", err, redisfence.ErrDenied)
			}
			if d := admin.dump(t); d != before {
				t.Errorf("there is now\n%s", d)
			}
			marked(t, admin.open(t, nil), at(t, 5, 1))
		})
	}
	must(t, admin.Do(t.Context(), "acl", "setuser", "service", "off").Err())
	must(t, admin.Do(t.Context(), "acl", "setuser", "service", "resetpass").Err())
	_, err := redisfence.Open(t.Context(), as("off").Client, "{t}:fence", lock, nil)
	mustBe(t, err, redisfence.ErrDenied)
}

// While somebody's script keeps Redis busy.
func TestBusy(t *testing.T) {
	server := redistest.Start(t, redistest.WithSetting("busy-reply-threshold", "50"))
	p := place{server.Client(t), "{t}"}
	r := p.open(t, nil)
	must(t, r.Apply(t.Context(), at(t, 5, 1), p.set(":a", "one")))
	ended := make(chan error, 1)
	go func() { ended <- p.Eval(context.Background(), "while true do end", nil).Err() }()
	for {
		err := p.Ping(t.Context()).Err()
		if redis.HasErrorPrefix(err, "BUSY") {
			break
		}
		must(t, err)
	}
	err := r.Apply(t.Context(), at(t, 5, 2), p.set(":a", "two"))
	must(t, p.ScriptKill(t.Context()).Err())
	if err := <-ended; err == nil {
		t.Error("the script has ended by itself")
	}
	mustBe(t, err, fence.ErrContended)
	if !fence.SafeToRetry(err) {
		t.Error(err)
	}
	marked(t, r, at(t, 5, 1))
	must(t, r.Apply(t.Context(), at(t, 5, 2), p.set(":a", "two")))
}

// Nothing outlives its context, nor what one request may take.
func TestUnreachable(t *testing.T) {
	server := redistest.Start(t)
	opts := server.Options()
	opts.ReadTimeout, opts.DialerRetries = 300*time.Millisecond, 1
	client := redis.NewClient(opts)
	p := place{client, "{t}"}
	r := p.open(t, &redisfence.Options{Attempts: 2})
	must(t, r.Apply(t.Context(), at(t, 5, 1), p.set(":a", "one")))
	calls := map[string]func(context.Context) error{
		"Apply":  func(ctx context.Context) error { return r.Apply(ctx, at(t, 5, 2), p.set(":a", "two")) },
		"Claim":  func(ctx context.Context) error { return r.Claim(ctx, at(t, 6, 0).Token()) },
		"Mark":   func(ctx context.Context) error { _, err := r.Mark(ctx, lock); return err },
		"Rebase": func(ctx context.Context) error { return r.Rebase(ctx, at(t, 5, 1), at(t, 4, 0)) },
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	server.Freeze(t)
	// The connection that is there takes the command; a new one does not get that far.
	mustBe(t, within(t, 20*time.Second, func() error { return calls["Apply"](t.Context()) }), fence.ErrUnknownOutcome)
	for name, call := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		err := within(t, 20*time.Second, func() error { return call(ctx) })
		mustBe(t, err, context.DeadlineExceeded)
		cancel()
		if err := within(t, 20*time.Second, func() error { return call(t.Context()) }); err == nil {
			t.Errorf("%s of a server that hangs says nothing", name)
		}
		err = within(t, 20*time.Second, func() error { return call(ended) })
		mustBe(t, err, context.Canceled)
		if errors.Is(err, fence.ErrUnknownOutcome) {
			t.Errorf("%s: %v, though nothing was sent", name, err)
		}
	}
	server.Thaw(t)
	server.Stop(t)
	for name, call := range calls {
		err := within(t, 20*time.Second, func() error { return call(t.Context()) })
		if err == nil || errors.Is(err, fence.ErrUnknownOutcome) && name == "Mark" {
			t.Errorf("%s of a server that is down: %v", name, err)
		}
	}
	must(t, client.Close())
	for name, call := range calls {
		err := within(t, 20*time.Second, func() error { return call(t.Context()) })
		if !errors.Is(err, redis.ErrClosed) || fence.SafeToRetry(err) {
			t.Errorf("%s on a closed client: %v", name, err)
		}
	}
	_, err := redisfence.Open(t.Context(), client, p.mark(), lock, nil)
	mustBe(t, err, redis.ErrClosed)
}
