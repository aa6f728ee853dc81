package interop_test

import (
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"
)

// E17: whoever holds, the other side waits, and is next. Each grant has a create
// revision above the one before.
func TestEachSideExcludesTheOther(t *testing.T) {
	withRivals(t, func(t *testing.T, at site, make func(*testing.T, site) contender) {
		we, they := newOurs(t, at), make(t, at)

		p1 := at.join(t, they, 1)
		r1 := p1.granted(t)
		tryFails(t, we)
		p2 := at.join(t, we, 2)
		p2.waits(t)
		p1.unlock(t)
		r2 := p2.granted(t)

		p3 := at.join(t, they, 2)
		p3.waits(t)
		tryFails(t, newOurs(t, at))
		if other, ok := make(t, at).(trier); ok {
			tryFails(t, other)
		}
		p2.unlock(t)
		r3 := p3.granted(t)
		p3.unlock(t)
		at.WaitEmpty(t, queue)
		if r1 >= r2 || r2 >= r3 {
			t.Errorf("revisions %d, %d, %d do not rise", r1, r2, r3)
		}
	})
}

// tryFails checks that who is refused at once and leaves the queue as it was.
func tryFails(t *testing.T, who trier) {
	t.Helper()
	if err := who.try(within(t, 20*time.Second)); !errors.Is(err, concurrency.ErrLocked) {
		t.Fatalf("%T: trying a lock that is held: %v", who, err)
	}
}

// The lock goes round in the order of arrival, whoever stands there.
func TestQueueOrderIsPreserved(t *testing.T) {
	withRivals(t, func(t *testing.T, at site, make func(*testing.T, site) contender) {
		var line []*place
		for i := range 3 {
			line = append(line, at.join(t, newOurs(t, at), 2*i+1))
			line = append(line, at.join(t, make(t, at), 2*i+2))
		}
		last := int64(0)
		for i, p := range line {
			revision := p.granted(t)
			if revision <= last {
				t.Errorf("number %d has revision %d after %d", i, revision, last)
			}
			last = revision
			for _, later := range line[i+1:] {
				later.waits(t)
			}
			p.unlock(t)
		}
	})
}
