package etcdtest

import (
	"context"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Faults stand in front of a client's KV, Lease and Watcher and let chosen
// calls go wrong: a reply that is lost after the server did its work, a call
// that never leaves, a reply that comes late. The rules are data:
//
//	faults := etcdtest.NewFaults(t)
//	faults.Install(client)
//	trap := faults.Add(etcdtest.Rule{Op: etcdtest.OpDelete, Prefix: "locks/", Do: etcdtest.LoseReply})
//	... code under test ...
//	trap.WaitFired(t)
//
// Without a matching rule a call passes unchanged. A call is matched against
// the rules in the order in which they were added; the first that matches and
// is not used up decides.
//
// The fronts see the calls of the client's user, each once. The retries that
// clientv3 makes on its own connection are behind them: for those use a Link.
type Faults struct {
	mu    sync.Mutex
	traps []*Trap
	calls []Call
	done  chan struct{} // closed at the end of the test
	ended bool
	wg    sync.WaitGroup // of the goroutines that stand in a stream
}

// NewFaults returns a Faults without rules. When the test t ends every call
// that is still held is let go, and what the fronts started is joined.
func NewFaults(t testing.TB) *Faults {
	f := &Faults{done: make(chan struct{})}
	t.Cleanup(f.close)
	return f
}

func (f *Faults) close() {
	f.mu.Lock()
	if !f.ended {
		f.ended = true
		close(f.done)
	}
	f.mu.Unlock()
	f.wg.Wait()
}

// Install puts the three fronts on a client. Do it before others use the client.
func (f *Faults) Install(c *clientv3.Client) {
	c.KV = f.KV(c.KV)
	c.Lease = f.Lease(c.Lease)
	c.Watcher = f.Watcher(c.Watcher)
}

// Add adds a rule, in force from now on, and returns the handle to it.
func (f *Faults) Add(r Rule) *Trap {
	t := &Trap{rule: r, faults: f, fired: make(chan struct{}), released: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.traps = append(f.traps, t)
	return t
}

// Clear takes all rules out of force and lets held calls go.
func (f *Faults) Clear() {
	f.mu.Lock()
	traps := f.traps
	f.traps = nil
	f.mu.Unlock()
	for _, t := range traps {
		t.Release()
	}
}

// Count returns how many calls of these kinds came through the fronts so far,
// those that went wrong included. Without a kind it counts all.
func (f *Faults) Count(ops ...Op) int {
	n := 0
	for _, c := range f.Calls() {
		if len(ops) == 0 || contains(ops, c.Op) {
			n++
		}
	}
	return n
}

// Calls returns the calls that came through the fronts so far, in order.
func (f *Faults) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Call(nil), f.calls...)
}

func contains(ops []Op, op Op) bool {
	for _, o := range ops {
		if o == op {
			return true
		}
	}
	return false
}

// note writes a call down and returns the trap it falls into, or nil.
func (f *Faults) note(c Call) *Trap {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	if f.ended {
		return nil
	}
	for _, t := range f.traps {
		if t.takes(c) {
			return t
		}
	}
	return nil
}

// through lets one call pass the rules on its way to do.
func through[T any](ctx context.Context, f *Faults, c Call, do func() (T, error)) (T, error) {
	var none T
	t := f.note(c)
	if t == nil {
		return do()
	}
	switch t.rule.Do {
	case FailBefore:
		t.fire()
		return none, t.err(c.Op)
	case HoldRequest:
		t.fire()
		if err := t.hold(ctx); err != nil {
			return none, err
		}
		return do()
	}
	v, err := do()
	if err != nil {
		return none, err // a real failure: there is no reply to lose
	}
	t.fire()
	switch t.rule.Do {
	case LoseReply:
		return none, t.err(c.Op)
	case HoldReply:
		if err := t.hold(ctx); err != nil {
			return none, err
		}
	}
	return v, nil
}
