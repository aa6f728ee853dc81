package acid

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

// session is one run of all tests against one boundary.
type session struct {
	ctx      context.Context
	boundary Boundary
	lock     string
	mark     fence.Stamp // what the boundary should have accepted last
	readable bool
	rounds   int
	timeout  time.Duration // of one write or read
	broken   []string      // refusals that came as failures
	tags     int

	mu  sync.Mutex
	now *Result // of the test that runs
}

// stamp makes one of our own owner.
func (s *session) stamp(revision, sequence int64) fence.Stamp {
	t, err := fence.NewToken(s.lock, s.mark.Token().Epoch(), revision, "etcdfence check")
	if err != nil {
		panic(err) // the lock was checked, and revisions are positive
	}
	return t.At(sequence)
}

func (s *session) next() fence.Stamp { return s.stamp(s.mark.Token().Revision()+1, 1) }
func (s *session) again(n int64) fence.Stamp {
	return s.stamp(s.mark.Token().Revision(), s.mark.Sequence()+n)
}

func (s *session) back(generations, sequence int64) fence.Stamp {
	return s.stamp(max(1, s.mark.Token().Revision()-generations), sequence)
}

// to lets the next generation begin behind a revision.
func (s *session) to(revision int64) { s.mark = s.stamp(revision-1, 1) }

// settle takes a stamp for the mark.
func (s *session) settle(st fence.Stamp) {
	if s.mark.Compare(st) < 0 {
		s.mark = st
	}
}

func (s *session) tag() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tags++
	return strconv.FormatInt(int64(s.tags), 36)
}

// write presents a write, and once more if the boundary was only busy.
func (s *session) write(w Write) (err error) {
	for range 5 {
		ctx, cancel := context.WithTimeout(s.ctx, s.timeout)
		err = s.boundary.Write(ctx, w)
		cancel()
		if !errors.Is(err, fence.ErrContended) {
			break
		}
	}
	s.note("%v: %s", w.Stamp, describe(err))
	return err
}

func (s *session) read() string {
	if !s.readable {
		return ""
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.timeout)
	defer cancel()
	text, err := s.boundary.Read(ctx)
	if err != nil {
		s.failf("it could not be read: %v", err)
	}
	return text
}

// accept presents a stamp that must be accepted.
func (s *session) accept(st fence.Stamp, what string) {
	w := Write{st, valueOf(st, s.tag())}
	if err := s.write(w); err != nil {
		s.failf("%s (%v) was %s", what, st, describe(err))
		return
	}
	s.settle(st)
	if got, _ := held(s.read()); s.readable && got != w.Value {
		s.failf("%s (%v) was accepted, but the boundary holds %q and not %q", what, st, got, w.Value)
	}
}

// refuse presents a stamp that must be refused, and must change nothing.
func (s *session) refuse(st fence.Stamp, what string) {
	before := s.read()
	err := s.write(Write{st, valueOf(st, s.tag())})
	switch {
	case err == nil:
		s.failf("%s (%v) was accepted after %v", what, st, s.mark)
		return
	case !errors.Is(err, ErrRefused):
		s.broken = append(s.broken, fmt.Sprintf("%v was answered with: %v", st, err))
	}
	s.unchanged(before, what)
}

func (s *session) unchanged(before, what string) {
	was, _ := held(before)
	if got, _ := held(s.read()); s.readable && got != was {
		s.failf("%s was refused, and changed the value from %q to %q", what, was, got)
	}
}

// race presents stamps at once, and returns those that were accepted.
func (s *session) race(stamps []fence.Stamp) (accepted []fence.Stamp) {
	queue := make(chan fence.Stamp, len(stamps))
	for _, st := range stamps {
		queue <- st
	}
	close(queue)
	var mu sync.Mutex
	var all sync.WaitGroup
	start := make(chan struct{})
	for range parties {
		all.Go(func() {
			<-start
			for st := range queue {
				if s.write(Write{st, valueOf(st, s.tag())}) == nil {
					mu.Lock()
					accepted = append(accepted, st)
					mu.Unlock()
				}
			}
		})
	}
	close(start)
	all.Wait()
	return accepted
}

func (s *session) failf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Verdict = Broken
	s.now.Details = append(s.now.Details, fmt.Sprintf(format, args...))
}

func (s *session) skipf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Verdict = Unknown
	s.now.Details = append(s.now.Details, fmt.Sprintf(format, args...))
}

func (s *session) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.Verdict == Broken
}

// note keeps the history, of which a report shows the end.
func (s *session) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.History = append(s.now.History, fmt.Sprintf(format, args...))
	if extra := len(s.now.History) - 40; extra > 0 {
		s.now.History = s.now.History[extra:]
	}
}
