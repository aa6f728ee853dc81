package timeline

import (
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// Refused reports whether the fence did what it is for: B's write was accepted, A's
// later one was refused as stale, and the store still has B's value.
func (s Story) Refused() bool {
	a, b, ok := s.late(true)
	return ok && b.Err == nil && errors.Is(a.Err, fence.ErrStale) && s.act(true).Holds == b.Value
}

// Lost reports whether the contrast shows what happens without a fence: both were told
// ok, and B's value is gone.
func (s Story) Lost() bool {
	a, b, ok := s.late(false)
	return ok && b.Err == nil && a.Err == nil && s.act(false).Holds == a.Value && a.Value != b.Value
}

// Check returns nil if the story came out, and otherwise what is wrong with it.
func (s Story) Check() error {
	switch {
	case !s.Refused():
		return fmt.Errorf("A's late write should have been refused as stale, but the store holds %q at the end", s.act(true).Holds)
	case !s.Lost():
		return fmt.Errorf("without a fence A's late write should have replaced B's, but the store holds %q at the end", s.act(false).Holds)
	}
	return nil
}

// Conclusion is the story in one sentence.
func (s Story) Conclusion() string {
	if err := s.Check(); err != nil {
		return "The story did not come out: " + err.Error() + "."
	}
	return fmt.Sprintf("Both times etcd rightly gave the lock to B; with a fence the store refused A's late %s, "+
		"without one it lost B's newer %s although both were told ok.", valueOf(s, A), valueOf(s, B))
}

// valueOf is what a worker wrote.
func valueOf(s Story, who Who) string {
	a, b, _ := s.late(false)
	if who == A {
		return a.Value
	}
	return b.Value
}

func (s Story) act(fenced bool) Act {
	for _, act := range s.Acts {
		if act.Fence == fenced {
			return act
		}
	}
	return Act{Fence: fenced}
}

// late returns the two writes of an act, if A's came after its pause and after B's.
func (s Story) late(fenced bool) (a, b Event, ok bool) {
	continued := false
	for _, e := range s.act(fenced).Events {
		switch {
		case e.Kind == Continued && e.Who == A:
			continued = true
		case e.Kind == Wrote && e.Who == B && !continued:
			b = e
		case e.Kind == Wrote && e.Who == A && continued && b.Kind == Wrote:
			a, ok = e, true
		}
	}
	return a, b, ok
}
