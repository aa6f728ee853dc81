package etcdfence_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/fence"
)

// T4 (slatedb 352): B holds but has not written yet when A's late write arrives.
// Bind has claimed, so there is no window.
func TestT4ClaimClosesTheWindow(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	m := memory(t, "foo")
	ha := lock(t, adapter(t, server.NewClient(t), nil), "foo")
	wa := bind(t, ha, m)
	server.Expire(t, ha.Lease())

	hb := lock(t, adapter(t, server.NewClient(t), nil), "foo")
	wb := bind(t, hb, m)
	if mark, _ := m.Mark(ctx, "foo"); mark != hb.Token().At(0) {
		t.Fatalf("the mark after Bind is %v, want the claim of %v", mark, hb.Token())
	}
	mustBe(t, wa.Apply(ctx, put("late A")), fence.ErrStale)
	if err := wb.Apply(ctx, put("B")); err != nil {
		t.Fatal(err)
	}

	t.Run("without a claim", func(t *testing.T) {
		m := memory(t, "foo")
		old, young := ha.Token(), hb.Token()
		if err := m.Apply(ctx, old.At(1), put("late A")); err != nil {
			t.Fatalf("the window was closed, by what? %v", err)
		}
		if err := m.Apply(ctx, young.At(1), put("B")); err != nil {
			t.Fatal(err)
		}
		mustBe(t, m.Apply(ctx, old.At(2), put("later A")), fence.ErrStale)
	})
}

func count(t testing.TB, m *fence.Memory) int {
	v, _, err := m.Get(context.Background(), "value")
	if err != nil {
		t.Error(err)
	}
	n, _ := strconv.Atoi(v)
	return n
}

// T19: holders overlap; each reads the counter, adds one and writes. With claims no
// accepted increment is ever lost.
func TestT19ReadModifyWrite(t *testing.T) {
	server := start(t)
	ctx := within(t, 2*time.Minute)
	m := memory(t, "counter")
	const workers, rounds = 4, 25
	accepted, overlaps := make(chan int, workers*rounds), make(chan int, workers*rounds)
	bindings := make(chan struct{}) // somebody has bound and read
	var wg sync.WaitGroup
	for i := range workers {
		a := adapter(t, server.NewClient(t), nil)
		random := rand.New(rand.NewPCG(19, uint64(i)))
		wg.Go(func() {
			for range rounds {
				h, err := a.Lock(ctx, "counter")
				if err != nil {
					t.Error(err)
					return
				}
				w, err := etcdfence.Bind(ctx, h, resource(m))
				if errors.Is(err, fence.ErrStale) {
					_ = h.Release(ctx) // somebody was faster: this hold ended before it began
					continue
				} else if err != nil {
					t.Error(err)
					return
				}
				n := count(t, m)
				select { // tell one paused holder that it has been overtaken
				case bindings <- struct{}{}:
				default:
				}
				if random.IntN(3) == 0 {
					_, _ = server.Client().Revoke(ctx, h.Lease())
					select {
					case <-bindings:
						overlaps <- 1
					case <-time.After(200 * time.Millisecond): // nobody else is left
					}
				}
				switch err := w.Apply(ctx, put(fmt.Sprint(n+1))); {
				case err == nil:
					accepted <- 1
				case !errors.Is(err, fence.ErrStale):
					t.Error(err)
				}
				_ = h.Release(ctx)
			}
		})
	}
	wg.Wait()
	if got := count(t, m); got != len(accepted) {
		t.Fatalf("the counter is %d after %d accepted increments", got, len(accepted))
	}
	if len(overlaps) == 0 {
		t.Fatal("no holds overlapped: the test proves nothing")
	}
	t.Logf("%d increments accepted, %d overlaps", len(accepted), len(overlaps))

	t.Run("without a claim", func(t *testing.T) {
		m := memory(t, "counter")
		a := lock(t, adapter(t, server.NewClient(t), nil), "counter")
		old, n := a.Stamp(), count(t, m)
		server.Expire(t, a.Lease())
		b := lock(t, adapter(t, server.NewClient(t), nil), "counter")
		young, k := b.Stamp(), count(t, m)
		for _, write := range []struct {
			stamp fence.Stamp
			value int
		}{{old, n + 1}, {young, k + 1}} {
			if err := m.Apply(ctx, write.stamp, put(fmt.Sprint(write.value))); err != nil {
				t.Fatal(err)
			}
		}
		if got := count(t, m); got != 1 {
			t.Fatalf("the counter is %d; two accepted increments and a loss were expected", got)
		}
	})
}

// unreliable is a resource whose replies get lost on the way.
type unreliable struct {
	resource
	lose, fail int // replies to lose; requests to fail before they arrive
	claims     int // claims whose reply to lose
	sent       []fence.Stamp
}

func (u *unreliable) Apply(ctx context.Context, s fence.Stamp, f change) error {
	u.sent = append(u.sent, s)
	if u.fail > 0 {
		u.fail--
		return fmt.Errorf("%w: connection refused", fence.ErrContended)
	}
	err := u.resource.Apply(ctx, s, f)
	if u.lose > 0 && err == nil {
		u.lose--
		return fmt.Errorf("%w: connection reset", fence.ErrUnknownOutcome)
	}
	return err
}

func (u *unreliable) Claim(ctx context.Context, t fence.Token) error {
	err := u.resource.Claim(ctx, t)
	if u.claims > 0 && err == nil {
		u.claims--
		return fmt.Errorf("%w: connection reset", fence.ErrUnknownOutcome)
	}
	return err
}

// T20: the reply to an applied write is lost. It is sent again with the same stamp,
// applied once and reported once as a success.
func TestT20LostReply(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	m := memory(t, "foo")
	h := lock(t, adapter(t, server.NewClient(t), nil), "foo")
	u := &unreliable{resource: m, lose: 1, fail: 2, claims: 1}
	w := bind(t, h, resource(u))

	if err := w.Apply(ctx, increment); err != nil {
		t.Fatal(err)
	}
	if got := count(t, m); got != 1 {
		t.Fatalf("applied %d times", got)
	}
	if len(u.sent) != 4 {
		t.Fatalf("sent %d times: the test proves nothing", len(u.sent))
	}
	for _, s := range u.sent {
		if s != h.Token().At(1) {
			t.Fatalf("sent with %v and %v", u.sent[0], s)
		}
	}

	// A replay that is met on a first sending says that something is wrong: here
	// somebody took stamps past the Bound. It is not swallowed.
	if err := m.Apply(ctx, h.Token().At(2), put("thief")); err != nil {
		t.Fatal(err)
	}
	mustBe(t, w.Apply(ctx, increment), fence.ErrReplayed)
	// Nor is one that is met by a repetition, if a later stamp was accepted: the
	// write in doubt may or may not have been the one before it.
	u.lose = 1
	u.resource = overtaken{m, h.Token().At(100)}
	mustBe(t, w.Apply(ctx, increment), fence.ErrReplayed)
	if h.Err() != nil {
		t.Fatalf("a replay ended the hold: %v", h.Err())
	}
}

// overtaken lets another stamp in after every write.
type overtaken struct {
	resource
	by fence.Stamp
}

func (o overtaken) Apply(ctx context.Context, s fence.Stamp, f change) error {
	err := o.resource.Apply(ctx, s, f)
	_ = o.resource.Apply(ctx, o.by, put("later"))
	return err
}

// A write that stays in doubt ends with its context or with its hold, and says so.
func TestRetriesEnd(t *testing.T) {
	server := start(t)
	m := memory(t, "foo")
	h := lock(t, adapter(t, server.NewClient(t), nil), "foo")
	u := &unreliable{resource: m, fail: 1 << 30}
	w := bind(t, h, resource(u))

	mustBe(t, w.Apply(within(t, 50*time.Millisecond), increment), fence.ErrContended, context.DeadlineExceeded)
	time.AfterFunc(50*time.Millisecond, func() { _, _ = server.Client().Revoke(context.Background(), h.Lease()) })
	mustBe(t, w.Apply(within(t, time.Minute), increment), fence.ErrContended, etcdfence.ErrLost)
}

// jostling is a resource on whose way requests overtake one another.
type jostling struct{ resource }

func (j jostling) Apply(ctx context.Context, s fence.Stamp, f change) error {
	for range rand.IntN(20) {
		runtime.Gosched()
	}
	return j.resource.Apply(ctx, s, f)
}

// T21: sixteen goroutines write through one Bound. Nothing is refused, everything is
// applied, in the order of the stamps.
func TestT21ParallelWritersOneHold(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	m := memory(t, "foo")
	w := bind(t, lock(t, adapter(t, server.NewClient(t), nil), "foo"), resource(jostling{m}))
	const writers, writes = 16, 50
	var order []fence.Stamp // guarded by the resource: changes run one after another
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range writes {
				err := w.Apply(ctx, func(ctx context.Context, tx *fence.MemoryTx) error {
					s, err := fence.StampFrom(ctx)
					order = append(order, s)
					return errors.Join(err, increment(ctx, tx))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := count(t, m); got != writers*writes || len(order) != got {
		t.Fatalf("%d increments, %d changes", got, len(order))
	}
	for i := 1; i < len(order); i++ {
		if order[i].Compare(order[i-1]) <= 0 {
			t.Fatalf("%v after %v", order[i], order[i-1])
		}
	}
}

// T17 (gocron 50): when the lock or the claim is not had, the function is not called.
func TestT17DoCallsNothingWithoutAHold(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	a := adapter(t, server.NewClient(t), nil)
	m := memory(t, "foo")
	forbidden := func(context.Context, *bound) error {
		t.Error("the function was called")
		return nil
	}

	h := lock(t, adapter(t, server.NewClient(t), nil), "foo")
	mustBe(t, etcdfence.Do(within(t, 50*time.Millisecond), a, "foo", resource(m), forbidden), context.DeadlineExceeded)
	mustBe(t, etcdfence.Do(ctx, a, "", resource(m), forbidden), etcdfence.ErrBadName)
	release(t, h)

	ahead, err := fence.NewToken("foo", 0, 1<<62, "somebody")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Claim(ctx, ahead); err != nil {
		t.Fatal(err)
	}
	mustBe(t, etcdfence.Do(ctx, a, "foo", resource(m), forbidden), fence.ErrStale)
	mustBe(t, etcdfence.Do(ctx, a, "foo", resource(memory(t, "bar")), forbidden), fence.ErrWrongLock)
	server.WaitEmpty(t, "foo/") // each Do has released

	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	mustBe(t, etcdfence.Do(ctx, a, "foo", resource(m), forbidden), etcdfence.ErrClosed)
}

// Do ends the function's context with the cause of the loss, returns the function's
// error with it, and releases also when the function panics.
func TestDo(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	a := adapter(t, server.NewClient(t), nil)
	m := memory(t, "foo")

	broken := errors.New("broken")
	err := etcdfence.Do(ctx, a, "foo", resource(m), func(ctx context.Context, w *bound) error {
		if tok, err := fence.TokenFrom(ctx); err != nil || tok != w.Hold().Token() {
			t.Errorf("the token in the context is %v, %v", tok, err)
		}
		server.Revoke(t, w.Hold().Lease())
		<-ctx.Done()
		mustBe(t, context.Cause(ctx), etcdfence.ErrLost)
		return broken
	})
	mustBe(t, err, broken, etcdfence.ErrLost, etcdfence.ErrLeaseGone)

	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = etcdfence.Do(ctx, a, "foo", resource(m), func(context.Context, *bound) error { panic("at the disco") })
	}()
	server.WaitEmpty(t, "foo/")

	if err := etcdfence.Do(ctx, a, "foo", resource(m), func(ctx context.Context, w *bound) error {
		return w.Apply(ctx, put("done"))
	}); err != nil || value(t, m) != "done" {
		t.Fatal(err, value(t, m))
	}
	var none *etcdfence.Hold
	_, err = etcdfence.Bind(ctx, none, resource(m))
	mustBe(t, err, etcdfence.ErrNotHeld)
}
