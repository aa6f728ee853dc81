package acid

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/etcdfence/etcdfence/fence"
)

// test is one question to the boundary. They run in order: each goes on from the mark that
// the one before has left.
type test struct {
	rule  string
	title string
	why   string // what goes wrong in a service if this does not hold
	run   func(*session)
}

var tests = []test{
	{"R9", "a first write is accepted", "nobody could ever write", first},
	{"rule", "a newer generation is accepted", "the next holder could not work", newer},
	{"rule", "a later write of one hold is accepted", "a holder could write once only", later},
	{"rule", "an older generation is refused", "a holder that wakes up late overwrites the newer one's work", older},
	{"rule", "an older generation with a high sequence is refused", "a busy old holder beats a new one", olderBusy},
	{"rule", "an equal stamp is refused", "a write that is sent twice is done twice, and undoes what came between", equal},
	{"rule", "an earlier sequence of the same hold is refused", "a write that was delayed undoes a later one", earlier},
	{"rule", "another owner of the same revision is refused", "two histories of etcd write over each other", owner},
	{"R8", "numbers of different lengths are compared as numbers", "as texts, 10 is older than 9: newer holders are refused", digits},
	{"R8", "numbers beyond 2^53 are compared exactly", "after a bumped restore, newer holders are refused or old ones accepted", wide},
	{"R10", "a write without a token is refused", "one forgotten writer overwrites everybody", anonymous},
	{"R3", "a refusal is told from a failure", "a caller takes a refusal for an outage, and tries again", telling},
	{"R7", "one stamp from many senders is accepted once", "a retry that overtakes its original is done twice", senders},
	{"R7", "shuffled stamps at once: the newest wins", "compare and write are two steps: an old write lands between them", shuffled},
	{"R6", "after a lost reply the same stamp tells", "a client that tries again does it twice, or never knows", lostReply},
}

func first(s *session) { s.accept(s.next(), "nobody has written yet") }
func newer(s *session) { s.accept(s.next(), "the next generation") }
func later(s *session) { s.accept(s.again(1), "the same hold, its next write") }
func older(s *session) { s.refuse(s.back(1, 100), "the generation before") }
func equal(s *session) { s.refuse(s.mark, "the very stamp that was accepted last") }
func owner(s *session) { s.other() }
func telling(s *session) {
	if len(s.broken) > 0 {
		s.failf("%s", strings.Join(s.broken, "; "))
	}
}

func olderBusy(s *session) {
	s.refuse(s.back(1, 1<<40), "the generation before, its write number 2^40")
}

func earlier(s *session) {
	s.accept(s.again(5), "the same hold, five writes on")
	if s.failed() {
		return
	}
	s.refuse(s.mark.Token().At(s.mark.Sequence()-2), "two writes before that")
}

// other has an owner of its own at the mark's revision, and goes on from there.
func (s *session) other() {
	if !s.boundary.Owners() {
		s.skipf("the boundary is not told the owner")
		return
	}
	t := s.mark.Token()
	o, err := fence.NewToken(t.Lock(), t.Epoch(), t.Revision(), "somebody else")
	if err != nil {
		s.failf("%v", err)
		return
	}
	s.refuse(o.At(s.mark.Sequence()+1), "another owner with the same revision")
}

// digits goes over a power of ten, with revision and sequence.
func digits(s *session) {
	power := int64(10)
	for power <= s.mark.Token().Revision()+1 {
		power *= 10
	}
	s.to(power - 1)
	s.accept(s.stamp(power-1, 9), "nines only")
	s.accept(s.stamp(power-1, 10), "the same hold, its tenth write")
	s.accept(s.stamp(power, 1), "a digit more")
	s.refuse(s.stamp(power-1, 11), "a digit less again")
}

// wide is last but for the races in that it moves the mark far away.
func wide(s *session) {
	const edge = 1 << 53
	if s.mark.Token().Revision() < edge {
		s.to(edge)
		s.accept(s.stamp(edge, 1), "revision 2^53")
	}
	s.accept(s.next(), "one more: as doubles the two are equal")
	s.refuse(s.back(1, 1), "one less again")
}

func anonymous(s *session) {
	before := s.read()
	err := s.boundary.Anonymous(s.ctx, valueOf(s.mark, s.tag()))
	switch {
	case errors.Is(err, ErrNoAnonymous):
		s.skipf("it cannot be asked without one")
	case err == nil:
		s.failf("it was accepted")
	case !errors.Is(err, ErrRefused):
		s.failf("it was answered with a failure: %v", err)
	default:
		s.unchanged(before, "a write without a token")
	}
}

// senders present one stamp at once.
func senders(s *session) {
	for range s.rounds {
		stamp := s.next()
		n := s.race(slices.Repeat([]fence.Stamp{stamp}, parties))
		s.settle(stamp)
		if accepted := len(n); accepted != 1 {
			s.failf("%v was presented by %d at once, and accepted %d times", stamp, parties, accepted)
			return
		}
	}
}

const parties = 4

// shuffled presents many stamps and duplicates at once, while somebody reads.
func shuffled(s *session) {
	for range s.rounds {
		base := s.mark.Token().Revision()
		var stamps []fence.Stamp
		for g := int64(1); g <= 6; g++ {
			for q := int64(1); q <= 2; q++ {
				stamps = append(stamps, s.stamp(base+g, q), s.stamp(base+g, q))
			}
		}
		newest := stamps[len(stamps)-1]
		rand.Shuffle(len(stamps), func(i, j int) { stamps[i], stamps[j] = stamps[j], stamps[i] })
		stop := s.watch()
		accepted := s.race(stamps)
		stop()
		s.settle(newest)
		seen := map[fence.Stamp]int{}
		for _, a := range accepted {
			seen[a]++
		}
		for a, n := range seen {
			if n > 1 {
				s.failf("%v was accepted %d times", a, n)
			}
		}
		if seen[newest] == 0 {
			s.failf("the newest of all, %v, was refused", newest)
		}
		if got, order := held(s.read()); s.readable && order != orderOf(newest) {
			s.failf("the newest accepted is %v, but the boundary holds %s", newest, got)
		}
		if s.failed() {
			return
		}
	}
}

// watch reads until it is stopped: what it sees must never go back.
func (s *session) watch() (stop func()) {
	if !s.readable {
		return func() {}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	var reading sync.WaitGroup
	reading.Go(func() {
		var last [3]int64
		for ctx.Err() == nil {
			text, err := s.boundary.Read(ctx)
			if err != nil {
				continue // the end says what the boundary holds
			}
			value, order := held(text)
			if slices.Compare(order[:], last[:]) < 0 {
				s.failf("the value went back to %s: an older write landed on a newer one", value)
				return
			}
			last = order
		}
	})
	return func() { cancel(); reading.Wait() }
}

func lostReply(s *session) {
	stamp := s.next()
	w := Write{stamp, valueOf(stamp, s.tag())}
	if err := s.boundary.Abandon(s.ctx, w); err != nil {
		s.skipf("%v", err)
		return
	}
	err := s.write(w)
	s.settle(stamp)
	switch {
	case err != nil && !errors.Is(err, ErrRefused):
		s.failf("the same stamp again was answered with a failure: %v", err)
	case err != nil:
		s.note("the lost write had arrived; the repeat was refused")
	default:
		s.note("the lost write had not arrived; the repeat was accepted")
	}
	if got, _ := held(s.read()); s.readable && got != w.Value {
		s.failf("after it the boundary holds %q, want %q", got, w.Value)
	}
	s.refuse(stamp, "the same stamp once more")
}

func orderOf(st fence.Stamp) [3]int64 {
	return [3]int64{st.Token().Epoch(), st.Token().Revision(), st.Sequence()}
}

func describe(err error) string {
	switch {
	case err == nil:
		return "accepted"
	case errors.Is(err, ErrRefused):
		return "refused"
	}
	return fmt.Sprintf("failed: %v", err)
}
