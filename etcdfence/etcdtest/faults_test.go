package etcdtest_test

import (
	"context"
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// faulty returns a server, a client with fronts, and the fronts.
func faulty(t *testing.T) (*etcdtest.Server, *clientv3.Client, *etcdtest.Faults) {
	t.Helper()
	s := etcdtest.Start(t)
	c := s.NewClient(t)
	f := etcdtest.NewFaults(t)
	f.Install(c)
	return s, c, f
}

func TestLostReply(t *testing.T) {
	s, c, f := faulty(t)
	trap := f.Add(etcdtest.Rule{Op: etcdtest.OpPut, Key: "k", Do: etcdtest.LoseReply})
	if _, err := c.Put(t.Context(), "other", "1"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), "k", "1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("put: %v, want a deadline", err)
	}
	trap.WaitFired(t)
	if v, _ := get(t, s.Client(), "k"); v != "1" {
		t.Fatalf("the put was not applied: %q", v)
	}
	if _, err := c.Put(t.Context(), "k", "2"); err != nil {
		t.Fatalf("the rule is used up: %v", err)
	}
	if trap.Hits() != 1 || f.Count(etcdtest.OpPut) != 3 {
		t.Errorf("hits %d, puts %d", trap.Hits(), f.Count(etcdtest.OpPut))
	}
}

func TestFailBefore(t *testing.T) {
	s, c, f := faulty(t)
	boom := errors.New("boom")
	f.Add(etcdtest.Rule{Op: etcdtest.OpDelete, Prefix: "a/", Skip: 1, Times: 2, Do: etcdtest.FailBefore, Err: boom})
	var got []bool
	for range 5 {
		s.Put(t, "a/k", "1")
		_, err := c.Delete(t.Context(), "a/k")
		_, there := get(t, s.Client(), "a/k")
		if there != errors.Is(err, boom) {
			t.Fatalf("error %v, key there: %v", err, there)
		}
		got = append(got, there)
	}
	want := []bool{false, true, true, false, false}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("failed calls %v, want %v", got, want)
		}
	}
}

// A lock's create transaction is applied and its reply is lost: etcd's recipe
// reports an error, and the key is there.
func TestLostReplyOfTheLockTransaction(t *testing.T) {
	s, c, f := faulty(t)
	session, err := concurrency.NewSession(c)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	f.Add(etcdtest.Rule{
		Op: etcdtest.OpTxn, Prefix: "lock/", Do: etcdtest.LoseReply,
		Match: func(c etcdtest.Call) bool {
			return c.Writes() && len(c.If) == 1 && len(c.Then) == 2 && len(c.Else) == 2
		},
	})
	m := concurrency.NewMutex(session, "lock")
	if err := m.Lock(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("lock: %v", err)
	}
	if q := s.Queue(t, "lock/"); len(q) != 1 {
		t.Fatalf("queue %v, want the orphan", q)
	}
}

func TestRulesSeeInsideTransactions(t *testing.T) {
	_, c, f := faulty(t)
	always := func(r etcdtest.Rule) {
		r.Op, r.Times, r.Do = etcdtest.OpTxn, etcdtest.Always, etcdtest.FailBefore
		f.Add(r)
	}
	always(etcdtest.Rule{Key: "then", Err: errors.New("then")})
	always(etcdtest.Rule{Key: "else", Err: errors.New("else")})
	always(etcdtest.Rule{Key: "if", Err: errors.New("if")})
	always(etcdtest.Rule{Key: "range/x", Err: errors.New("range")})
	always(etcdtest.Rule{Key: "nested", Err: errors.New("nested")})

	is := clientv3.Compare(clientv3.Version("if"), "=", 0)
	nest := clientv3.OpTxn(nil, nil, []clientv3.Op{clientv3.OpPut("nested", "")})
	for want, txn := range map[string]clientv3.Txn{
		"then":   c.Txn(t.Context()).Then(clientv3.OpPut("then", "")),
		"else":   c.Txn(t.Context()).Else(clientv3.OpGet("else")),
		"if":     c.Txn(t.Context()).If(is),
		"range":  c.Txn(t.Context()).Then(clientv3.OpDelete("range/", clientv3.WithPrefix())),
		"nested": c.Txn(t.Context()).Then(nest),
	} {
		if _, err := txn.Commit(); err == nil || err.Error() != want {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := c.Txn(t.Context()).Then(clientv3.OpPut("none", "")).Commit(); err != nil {
		t.Error(err)
	}
	if _, err := c.Do(t.Context(), nest); err == nil || err.Error() != "nested" {
		t.Errorf("do: %v", err)
	}
	if _, err := c.Do(t.Context(), clientv3.OpPut("then", "")); err != nil {
		t.Errorf("a put is not a txn: %v", err)
	}
}

func TestHold(t *testing.T) {
	s, c, f := faulty(t)
	request := f.Add(etcdtest.Rule{Op: etcdtest.OpPut, Key: "request", Do: etcdtest.HoldRequest})
	reply := f.Add(etcdtest.Rule{Op: etcdtest.OpPut, Key: "reply", Do: etcdtest.HoldReply, Times: etcdtest.Always})
	put := func(ctx context.Context, key string) <-chan error {
		done := make(chan error, 1)
		go func() { _, err := c.Put(ctx, key, "1"); done <- err }()
		return done
	}
	a, b := put(t.Context(), "request"), put(t.Context(), "reply")
	request.WaitFired(t)
	reply.WaitFired(t)
	if _, ok := get(t, s.Client(), "request"); ok {
		t.Error("a held request was sent")
	}
	if _, ok := get(t, s.Client(), "reply"); !ok {
		t.Error("a request whose reply is held was not sent")
	}
	// Its caller may give up.
	ctx, cancel := context.WithCancel(t.Context())
	gone := put(ctx, "reply")
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v", err)
	}
	select {
	case err := <-a:
		t.Fatal("not held:", err)
	case err := <-b:
		t.Fatal("not held:", err)
	default:
	}
	request.Release()
	reply.Release()
	if err := errors.Join(<-a, <-b); err != nil {
		t.Error(err)
	}
	if _, ok := get(t, s.Client(), "request"); !ok {
		t.Error("a released request was not sent")
	}
	if err := <-put(t.Context(), "reply"); err != nil {
		t.Error("after the release:", err)
	}
}

func TestWatchFaults(t *testing.T) {
	s, c, f := faulty(t)
	rule := func(do etcdtest.Fault, err error) *etcdtest.Trap {
		return f.Add(etcdtest.Rule{Op: etcdtest.OpWatch, Key: "k", Do: do, Err: err})
	}
	closed := func(ch clientv3.WatchChan) bool { _, ok := <-ch; return !ok }
	watch := func() clientv3.WatchChan { return c.Watch(t.Context(), "k") }

	rule(etcdtest.FailBefore, nil)
	ch := watch()
	if r := <-ch; r.Err() != rpctypes.ErrCompacted || !r.Canceled || !closed(ch) {
		t.Errorf("compacted: %v", r.Err())
	}
	rule(etcdtest.FailBefore, rpctypes.ErrNoLeader)
	ch = watch()
	if r := <-ch; r.Err() != rpctypes.ErrNoLeader || !closed(ch) {
		t.Errorf("no leader: %v", r.Err())
	}
	rule(etcdtest.FailBefore, etcdtest.ErrClosed)
	if !closed(watch()) {
		t.Error("not closed")
	}
	rule(etcdtest.LoseReply, nil)
	ch = watch()
	s.Put(t, "k", "1")
	if r := <-ch; r.Err() != rpctypes.ErrCompacted || len(r.Events) > 0 || !closed(ch) {
		t.Errorf("lost: %+v", r)
	}
	reply := rule(etcdtest.HoldReply, nil)
	ch = watch()
	reply.WaitFired(t)
	s.Put(t, "k", "2")
	select {
	case r := <-ch:
		t.Errorf("not held: %+v", r)
	default:
	}
	reply.Release()
	if r := <-ch; len(r.Events) != 1 || string(r.Events[0].Kv.Value) != "2" {
		t.Errorf("held reply: %+v", r)
	}
	request := rule(etcdtest.HoldRequest, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ch = c.Watch(ctx, "k", clientv3.WithCreatedNotify())
	request.WaitFired(t)
	s.Put(t, "k", "3") // nobody watches yet
	request.Release()
	if r := <-ch; !r.Created {
		t.Errorf("held request: %+v", r)
	}
	cancel()
	if !closed(ch) {
		t.Error("open after its context")
	}
}

func TestLeaseFaults(t *testing.T) {
	s, c, f := faulty(t)
	f.Add(etcdtest.Rule{Op: etcdtest.OpGrant, Do: etcdtest.LoseReply})
	if _, err := c.Grant(t.Context(), 60); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("grant: %v", err)
	}
	ids := s.Leases(t)
	if len(ids) != 1 {
		t.Fatalf("leases %v, want the one whose reply was lost", ids)
	}
	id := ids[0]
	f.Add(etcdtest.Rule{Op: etcdtest.OpKeepAlive, Do: etcdtest.FailBefore})
	if _, err := c.KeepAlive(t.Context(), id); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("keep alive: %v", err)
	}
	for _, do := range []etcdtest.Fault{etcdtest.LoseReply, etcdtest.FailBefore} {
		f.Add(etcdtest.Rule{Op: etcdtest.OpKeepAlive, Do: do, Err: etcdtest.ErrClosed})
		ch, err := c.KeepAlive(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := <-ch; ok {
			t.Errorf("%d: a response came: %v", do, r)
		}
	}
	hold := f.Add(etcdtest.Rule{Op: etcdtest.OpKeepAlive, Do: etcdtest.HoldReply})
	ch, err := c.KeepAlive(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	hold.WaitFired(t) // left held: the end of the test must not wait for it
	select {
	case r := <-ch:
		t.Errorf("not held: %v", r)
	default:
	}
	f.Add(etcdtest.Rule{Op: etcdtest.OpRevoke, Match: func(c etcdtest.Call) bool { return c.Lease == id }, Do: etcdtest.FailBefore})
	if _, err := c.Revoke(t.Context(), id); err == nil {
		t.Error("revoke passed")
	}
	if len(s.Leases(t)) != 1 {
		t.Error("a revoke that failed before it was sent has revoked")
	}
}

// Every method of the three interfaces goes through the rules.
func TestEveryCallPassesTheRules(t *testing.T) {
	_, c, f := faulty(t)
	ctx := t.Context()
	id := leased(t, c, "k", 60)
	calls := map[etcdtest.Op]func() error{
		etcdtest.OpGet:           func() error { _, err := c.Get(ctx, "k"); return err },
		etcdtest.OpPut:           func() error { _, err := c.Put(ctx, "k", ""); return err },
		etcdtest.OpDelete:        func() error { _, err := c.Delete(ctx, "k"); return err },
		etcdtest.OpTxn:           func() error { _, err := c.Txn(ctx).Commit(); return err },
		etcdtest.OpCompact:       func() error { _, err := c.Compact(ctx, 1); return err },
		etcdtest.OpGrant:         func() error { _, err := c.Grant(ctx, 60); return err },
		etcdtest.OpRevoke:        func() error { _, err := c.Revoke(ctx, id); return err },
		etcdtest.OpTimeToLive:    func() error { _, err := c.TimeToLive(ctx, id); return err },
		etcdtest.OpLeases:        func() error { _, err := c.Leases(ctx); return err },
		etcdtest.OpKeepAlive:     func() error { _, err := c.KeepAlive(ctx, id); return err },
		etcdtest.OpKeepAliveOnce: func() error { _, err := c.KeepAliveOnce(ctx, id); return err },
		etcdtest.OpWatch:         func() error { r := <-c.Watch(ctx, "k"); return r.Err() },
	}
	for op, call := range calls {
		f.Add(etcdtest.Rule{Op: op, Do: etcdtest.FailBefore, Err: rpctypes.ErrNoLeader})
		if err := call(); !errors.Is(err, rpctypes.ErrNoLeader) {
			t.Errorf("%s: %v", op, err)
		}
	}
	for _, lost := range []bool{false, true} {
		if lost {
			f.Add(etcdtest.Rule{Op: etcdtest.OpGet, Do: etcdtest.LoseReply})
		}
		ch, err := c.GetStream(ctx, "k")
		if lost != (err != nil) {
			t.Errorf("stream, lost %v: %v", lost, err)
		}
		if err == nil {
			if _, err := clientv3.GetStreamToGetResponse(ch); err != nil {
				t.Error(err)
			}
		}
	}
	// An observer counts and changes nothing.
	seen := f.Add(etcdtest.Rule{Prefix: "k", Times: etcdtest.Always})
	get(t, c, "k")
	get(t, c, "k")
	if seen.Hits() != 2 {
		t.Errorf("observed %d", seen.Hits())
	}
	f.Add(etcdtest.Rule{Do: etcdtest.FailBefore, Times: etcdtest.Always})
	f.Clear()
	get(t, c, "k")
}
