package etcdkv_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/etcdfence/etcdfence/etcdfence/etcdkv"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
)

func smallQuota(c *embed.Config) { c.QuotaBackendBytes = 8 << 20 }

func TestNewRefusesBadArguments(t *testing.T) {
	client := etcdtest.Start(t).NewClient(t)
	if _, err := etcdkv.New(nil, "accounts", lock, nil); err == nil {
		t.Error("a nil client is accepted")
	}
	for _, prefix := range []string{"", "/", "///", "accounts.fence", "a.fence/b", strings.Repeat("x", 1025)} {
		if _, err := etcdkv.New(client, prefix, lock, nil); !errors.Is(err, etcdkv.ErrBadKey) {
			t.Errorf("the prefix %.20q: %v", prefix, err)
		}
	}
	for _, name := range []string{"", "a\n", strings.Repeat("x", fence.MaxLock+1)} {
		if _, err := etcdkv.New(client, "accounts", name, nil); !errors.Is(err, fence.ErrBadToken) {
			t.Errorf("the lock %.20q: %v", name, err)
		}
	}
}

func TestBadKeysFailTheWrite(t *testing.T) {
	r := open(t, etcdtest.Start(t).NewClient(t), nil)
	for _, key := range []string{"", "x.fence/mark/stamp", "x.fence", "a/.fence/b"} {
		for name, change := range map[string]func(context.Context, *etcdkv.Tx) error{
			"put":    put(key, "v"),
			"delete": func(_ context.Context, tx *etcdkv.Tx) error { tx.Delete(key); return nil },
			"get":    func(ctx context.Context, tx *etcdkv.Tx) error { _, _, _ = tx.Get(ctx, key); return nil },
		} {
			if err := r.Apply(t.Context(), at(t, 5, 1), change); !errors.Is(err, etcdkv.ErrBadKey) {
				t.Errorf("%s %q: %v", name, key, err)
			}
		}
	}
	marked(t, r, fence.Stamp{})
}

// A write of a hold that has claimed is one request; so is every refusal of one.
func TestRoundTrips(t *testing.T) {
	var rpcs etcdtest.Counter
	r := open(t, etcdtest.Start(t).NewClient(t, rpcs.Option()), nil)
	count := func(what string, want int, want2 error, f func() error) {
		t.Helper()
		rpcs.Reset()
		if err := f(); !errors.Is(err, want2) {
			t.Errorf("%s: got %v, want %v", what, err, want2)
		}
		if rpcs.Count() != want {
			t.Errorf("%s: %s, want %d", what, &rpcs, want)
		}
	}
	ctx := t.Context()
	apply := func(ctx context.Context, s fence.Stamp) func() error {
		return func() error { return r.Apply(ctx, s, put("k", s.String())) }
	}
	claim := func(s fence.Stamp) func() error { return func() error { return r.Claim(ctx, s.Token()) } }
	count("the first claim ever", 1, nil, claim(at(t, 5, 0)))
	count("the claim again", 1, nil, claim(at(t, 5, 0)))
	count("a write", 1, nil, apply(ctx, at(t, 5, 1)))
	count("a replay", 1, fence.ErrReplayed, apply(ctx, at(t, 5, 1)))
	count("a newer claim", 1, nil, claim(at(t, 6, 0)))
	count("a stale write", 1, fence.ErrStale, apply(ctx, at(t, 5, 2)))
	count("a stale claim", 1, fence.ErrStale, claim(at(t, 5, 0)))
	count("a write without a claim", 2, nil, apply(ctx, at(t, 7, 1)))
	count("an operation", 2, nil, apply(fence.WithOperation(ctx, "pay"), at(t, 7, 2)))
	count("a duplicate", 1, fence.ErrDuplicate, apply(fence.WithOperation(ctx, "pay"), at(t, 7, 3)))
}

// Byte order is number order up to the end of both numbers.
func TestWideNumbers(t *testing.T) {
	r := open(t, etcdtest.Start(t).NewClient(t), nil)
	numbers := []int64{1, 9, 10, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64}
	for _, revision := range numbers {
		for _, sequence := range numbers {
			s := at(t, revision, sequence)
			must(t, r.Apply(t.Context(), s, put("k", s.String())))
			mustBe(t, r.Apply(t.Context(), s, put("k", "again")), fence.ErrReplayed)
		}
	}
}

// Reads of a change are compared: two that read the same key do not undo each other, even
// where the fence lets both pass.
func TestReadsAreCompared(t *testing.T) {
	r := open(t, etcdtest.Start(t).NewClient(t), &etcdkv.Options{AnyOrder: true})
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	const writers, each = 4, 8
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				s := at(t, 5, int64(w*each+i+1))
				var err error
				for again := true; again; again = errors.Is(err, fence.ErrContended) {
					err = r.Apply(t.Context(), s, addOne)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := value(t, r, "counter"); got != fmt.Sprint(writers*each) {
		t.Fatalf("the counter is %s after %d increments", got, writers*each)
	}
	marked(t, r, at(t, 5, writers*each))
}

func addOne(ctx context.Context, tx *etcdkv.Tx) error {
	text, _, err := tx.Get(ctx, "counter")
	if err != nil {
		return err
	}
	n, _ := strconv.Atoi(text) // 0 before the first
	tx.Put("counter", fmt.Sprint(n+1))
	return nil
}

// Two of one operation have both found it fresh, before their changes ran.
func TestOneOperationTwice(t *testing.T) {
	client := etcdtest.Start(t).NewClient(t)
	for _, opts := range []*etcdkv.Options{nil, {AnyOrder: true}} {
		r, err := etcdkv.New(client, fmt.Sprint("data", opts != nil), lock, opts)
		must(t, err)
		must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
		first, second := at(t, 5, 1), at(t, 5, 2)
		err = r.Apply(fence.WithOperation(t.Context(), "pay"), second, func(_ context.Context, tx *etcdkv.Tx) error {
			tx.Put("paid", "twice")
			return r.Apply(fence.WithOperation(t.Context(), "pay"), first, put("paid", "once"))
		})
		mustBe(t, err, fence.ErrDuplicate)
		if got := value(t, r, "paid"); got != "once" {
			t.Fatalf("it was paid %s", got)
		}
		marked(t, r, first)
	}
}

// A change sees its own writes, and one revision of all the rest.
func TestChangeReads(t *testing.T) {
	server := etcdtest.Start(t)
	r := open(t, server.NewClient(t), nil)
	must(t, r.Apply(t.Context(), at(t, 5, 1), func(_ context.Context, tx *etcdkv.Tx) error {
		tx.Put("a", "1")
		tx.Put("b", "1")
		tx.Put("gone", "1")
		return nil
	}))
	runs := 0
	must(t, r.Apply(t.Context(), at(t, 5, 2), func(ctx context.Context, tx *etcdkv.Tx) error {
		runs++
		a, _, err := tx.Get(ctx, "a")
		must(t, err)
		if runs == 1 { // somebody writes around the fence
			server.Put(t, "/accounts/a", "2")
			server.Put(t, "/accounts/b", "2")
		}
		b, _, err := tx.Get(ctx, "b")
		must(t, err)
		if a != b {
			t.Errorf("run %d saw a=%s beside b=%s", runs, a, b)
		}
		tx.Delete("gone")
		if v, ok, err := tx.Get(ctx, "gone"); ok || err != nil {
			t.Errorf("its own deletion is seen as %q, %v", v, err)
		}
		tx.Put("sum", a+b)
		if v, ok, err := tx.Get(ctx, "sum"); !ok || v != a+b || err != nil {
			t.Errorf("its own write is seen as %q, %v", v, err)
		}
		return nil
	}))
	if runs != 2 || value(t, r, "sum") != "22" {
		t.Fatalf("after %d runs the sum is %q", runs, value(t, r, "sum"))
	}
	if _, ok, err := r.Get(t.Context(), "gone"); ok || err != nil {
		t.Fatalf("the deletion was not applied: %v", err)
	}
}

func TestGuardedByAnotherLock(t *testing.T) {
	client := etcdtest.Start(t).NewClient(t)
	r := open(t, client, nil)
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	other, err := etcdkv.New(client, "/accounts", "another", nil)
	must(t, err)
	tok, err := fence.NewToken("another", 0, 9, "o")
	must(t, err)
	mustBe(t, other.Claim(t.Context(), tok), fence.ErrWrongLock)
	mustBe(t, other.Apply(t.Context(), tok.At(1), put("k", "v")), fence.ErrWrongLock)
	_, err = other.Mark(t.Context(), lock)
	mustBe(t, err, fence.ErrWrongLock)
	_, err = other.Mark(t.Context(), "")
	mustBe(t, err, fence.ErrBadToken)
	marked(t, r, at(t, 5, 0))
}

// A mark that cannot be read is never "no mark".
func TestDamagedMark(t *testing.T) {
	server := etcdtest.Start(t)
	r := open(t, server.NewClient(t), nil)
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	const own = "/accounts.fence/mark/"
	const stamp, token = own + "stamp", own + "token"
	good := "0000000000000000000.0000000000000000005.0000000000000000000 nonce"
	for name, damage := range map[string]func(){
		"stamp is no number":     func() { server.Put(t, stamp, "zero") },
		"stamp is empty":         func() { server.Put(t, stamp, "") },
		"stamp of another token": func() { server.Put(t, stamp, strings.Replace(good, "5", "4", 1)) },
		"stamp is short":         func() { server.Put(t, stamp, good[1:]) },
		"stamp is gone":          func() { server.DeleteKey(t, stamp) },
		"token is no token":      func() { server.Put(t, token, "v1;e=0") },
		"token is gone":          func() { server.DeleteKey(t, token) },
		"lock is another":        func() { server.Put(t, own+"lock", "another") },
		"lock is gone":           func() { server.DeleteKey(t, own+"lock") },
		"all but the lock":       func() { server.DeleteKey(t, token); server.DeleteKey(t, stamp) },
	} {
		t.Run(name, func(t *testing.T) {
			text, _ := at(t, 5, 0).Token().MarshalText()
			server.Put(t, stamp, good)
			server.Put(t, token, string(text))
			server.Put(t, own+"lock", lock)
			marked(t, r, at(t, 5, 0))
			damage()
			_, err := r.Mark(t.Context(), lock)
			mustBe(t, err, etcdkv.ErrDamaged)
			for _, revision := range []int64{3, 5, 7} {
				switch {
				case revision == 5 && strings.HasPrefix(name, "lock"):
					continue // of the mark's own token the lock is not asked
				case revision == 7 && strings.HasPrefix(name, "token"), revision >= 5 && name == "stamp of another token":
					continue // it is newer than the stamp, and what it replaces need not be whole
				}
				mustBe(t, r.Apply(t.Context(), at(t, revision, 1), put("k", "v")), etcdkv.ErrDamaged)
				mustBe(t, r.Claim(t.Context(), at(t, revision, 0).Token()), etcdkv.ErrDamaged)
			}
			mustBe(t, r.Claim(t.Context(), at(t, 3, 0).Token()), etcdkv.ErrDamaged)
			mustBe(t, r.Rebase(t.Context(), fence.Stamp{}, at(t, 3, 0)), etcdkv.ErrDamaged)
		})
	}
}

// Nothing outlives its context.
func TestUnreachable(t *testing.T) {
	server := etcdtest.Start(t)
	client := server.NewClient(t)
	r := open(t, client, nil)
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	server.Stop()
	calls := map[string]func(context.Context) error{
		"Apply":  func(ctx context.Context) error { return r.Apply(ctx, at(t, 5, 1), put("k", "v")) },
		"Claim":  func(ctx context.Context) error { return r.Claim(ctx, at(t, 6, 0).Token()) },
		"Mark":   func(ctx context.Context) error { _, err := r.Mark(ctx, lock); return err },
		"Get":    func(ctx context.Context) error { _, _, err := r.Get(ctx, "k"); return err },
		"Rebase": func(ctx context.Context) error { return r.Rebase(ctx, at(t, 5, 0), at(t, 4, 0)) },
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if err := within(t, 5*time.Second, func() error { return call(ctx) }); err == nil {
			t.Errorf("%s: no error from a server that is down", name)
		}
		cancel()
		err := within(t, 5*time.Second, func() error { return call(ended) })
		mustBe(t, err, context.Canceled)
		if errors.Is(err, fence.ErrUnknownOutcome) {
			t.Errorf("%s: %v, though nothing was sent", name, err)
		}
	}
	must(t, client.Close())
	for name, call := range calls {
		err := within(t, 5*time.Second, func() error { return call(t.Context()) })
		if err == nil || !strings.Contains(err.Error(), "closed") || fence.SafeToRetry(err) {
			t.Errorf("%s on a closed client: %v", name, err)
		}
	}
}
