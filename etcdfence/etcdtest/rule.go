package etcdtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// A Fault is what happens to a call that a rule matches.
type Fault int

// The faults. A hold ends with Trap.Release, with the caller's context (the
// caller gets the context's error), or with the test.
const (
	// Observe lets the call pass: the rule only counts and signals.
	Observe Fault = iota
	// FailBefore returns the rule's error; the call is never sent.
	FailBefore
	// LoseReply sends the call, waits until it has succeeded, and returns the
	// rule's error all the same: carried out, yet the caller cannot know.
	LoseReply
	// HoldRequest keeps the call back until it is released, then sends it.
	HoldRequest
	// HoldReply sends the call and keeps its reply back until it is released.
	HoldReply
)

// ErrClosed, as the error of a rule about a watch or a keep-alive, means: close
// the channel without a word.
var ErrClosed = errors.New("etcdtest: channel closed by a rule")

// A Rule says which calls go wrong and how. Empty fields match everything.
type Rule struct {
	// Op is the kind of call; AnyOp is every kind.
	Op Op
	// Key matches calls that touch this key: alone, in a range, or for a
	// transaction in any compare or operation of either branch.
	Key string
	// Prefix matches calls that name a key with this prefix.
	Prefix string
	// Match, if not nil, must agree too. It must not call the Faults.
	Match func(Call) bool

	// Skip lets so many matching calls pass first: Skip 2 is the third one.
	Skip int
	// Times is how many matching calls go wrong: 0 means one, Always all.
	Times int

	// Do is what happens to them.
	Do Fault
	// Err is what FailBefore and LoseReply return. Nil means
	// context.DeadlineExceeded, as if the caller's time had run out, and for
	// a watch rpctypes.ErrCompacted.
	Err error
}

// Always, as Rule.Times, makes every matching call go wrong.
const Always = -1

// A Trap is a rule in force.
type Trap struct {
	rule   Rule
	faults *Faults

	// guarded by faults.mu
	seen, hits  int
	isFired, up bool

	fired    chan struct{}
	released chan struct{}
}

// takes reports whether the call falls into the trap. Needs faults.mu.
func (t *Trap) takes(c Call) bool {
	r := t.rule
	if r.Op != AnyOp && r.Op != c.Op ||
		r.Key != "" && !c.Touches(r.Key) ||
		r.Prefix != "" && !c.Under(r.Prefix) ||
		r.Match != nil && !r.Match(c) {
		return false
	}
	t.seen++
	times := max(r.Times, 1)
	if t.seen <= r.Skip || r.Times != Always && t.seen > r.Skip+times {
		return false
	}
	t.hits++
	return true
}

// err returns the error for a call of this kind.
func (t *Trap) err(op Op) error {
	switch {
	case t.rule.Err != nil:
		return t.rule.Err
	case op == OpWatch:
		return rpctypes.ErrCompacted
	default:
		return context.DeadlineExceeded
	}
}

// fire tells those who wait for the trap.
func (t *Trap) fire() {
	t.faults.mu.Lock()
	defer t.faults.mu.Unlock()
	if !t.isFired {
		t.isFired = true
		close(t.fired)
	}
}

// hold waits for the release.
func (t *Trap) hold(ctx context.Context) error {
	select {
	case <-t.released:
	case <-t.faults.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Fired is closed when the rule has caught its first call: for LoseReply and
// HoldReply, when the server has carried it out (for a keep-alive that is held,
// when it has started).
func (t *Trap) Fired() <-chan struct{} { return t.fired }

// WaitFired waits for Fired and fails the test after 20 s.
func (t *Trap) WaitFired(tb testing.TB) {
	tb.Helper()
	timer := time.NewTimer(20 * time.Second)
	defer timer.Stop()
	select {
	case <-t.fired:
	case <-timer.C:
		tb.Fatalf("etcdtest: no call fell under the rule %+v", t.rule)
	}
}

// Hits returns how many calls the rule has caught so far.
func (t *Trap) Hits() int {
	t.faults.mu.Lock()
	defer t.faults.mu.Unlock()
	return t.hits
}

// Release lets the held calls go, and later ones pass without being held.
// Doing it twice is fine.
func (t *Trap) Release() {
	t.faults.mu.Lock()
	defer t.faults.mu.Unlock()
	if !t.up {
		t.up = true
		close(t.released)
	}
}
