package interop_test

import (
	"errors"
	"testing"

	"github.com/etcdfence/etcdfence/etcdfence"
)

// A holder whose lease ends makes room for the other side.
func TestLossMakesRoomForTheOtherSide(t *testing.T) {
	withRivals(t, func(t *testing.T, at site, make func(*testing.T, site) contender) {
		we, they := newOurs(t, at), make(t, at)
		p1 := at.join(t, we, 1)
		r1 := p1.granted(t)
		p2 := at.join(t, they, 2)
		at.Revoke(t, leaseOf(t, p1.key))
		r2 := p2.granted(t)
		ends(t, we.hold, etcdfence.ErrLeaseGone)
		if err := we.unlock(t.Context()); !errors.Is(err, etcdfence.ErrNotHeld) {
			t.Errorf("our late release: %v", err)
		}
		if key, _ := at.first(t); key != p2.key {
			t.Errorf("our late release made %q the first", key)
		}

		p3 := at.join(t, we, 2) // on a new lease
		p3.waits(t)
		at.Revoke(t, leaseOf(t, p2.key))
		if r3 := p3.granted(t); r1 >= r2 || r2 >= r3 {
			t.Errorf("revisions %d, %d, %d do not rise", r1, r2, r3)
		}
		_ = they.unlock(t.Context()) // it deletes by name or not at all: an old key, not ours
		if err := we.hold.Verify(t.Context()); err != nil {
			t.Errorf("their late release: %v", err)
		}
		p3.unlock(t)
	})
}

// Somebody in the middle of the queue leaves it while the holder stays: whoever stands
// behind must go on waiting, for the holder. A waiter that takes any deletion in front
// of it for its turn holds too early here.
func TestWhoLeavesTheQueueLetsNobodyIn(t *testing.T) {
	withRivals(t, func(t *testing.T, at site, make func(*testing.T, site) contender) {
		holder := at.join(t, newOurs(t, at), 1)
		holder.granted(t)
		they := at.join(t, make(t, at), 2)
		we := at.join(t, newOurs(t, at), 3)
		at.Revoke(t, leaseOf(t, they.key))
		we.waits(t)
		holder.unlock(t)
		we.granted(t)
		if err := they.ends(t); err == nil {
			_, first := at.first(t)
			// Campaign reports leadership without a key (charts issue 326): etcd's own
			// flaw, which is why the order is taken from the revision.
			if _, isElection := they.who.(*election); !isElection || they.revision >= first {
				t.Errorf("%T holds by a key that is gone: %d", they.who, they.revision)
			}
		}

		behind := at.join(t, make(t, at), 2)
		mine := newOurs(t, at)
		middle := at.join(t, mine, 3)
		last := at.join(t, make(t, at), 4)
		at.Revoke(t, leaseOf(t, middle.key))
		if err := middle.ends(t); !errors.Is(err, etcdfence.ErrLost) || !errors.Is(err, etcdfence.ErrLeaseGone) {
			t.Errorf("our waiter whose lease is gone: %v", err)
		}
		behind.waits(t)
		last.waits(t)
		we.unlock(t)
		behind.granted(t)
		last.waits(t)
		behind.unlock(t)
		last.granted(t)
		last.unlock(t)
	})
}
