package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/timeline"
	"github.com/etcdfence/etcdfence/fence"
)

// The values that are written. B's is the newer one: B had the lock after A.
const (
	valueA = "v1"
	valueB = "v2"
)

// scene is one act while it is played.
type scene struct {
	*director
	act   timeline.Act
	begin time.Time // of the first event
}

// play is the story. Both times it is the same; only the store differs.
func (s *scene) play(ctx context.Context) error {
	if err := s.seen.act(s.act); err != nil {
		return err
	}
	a, err := s.enter(timeline.A, valueA)
	if err != nil {
		return err
	}
	defer a.quit()
	if err := s.steps(ctx, a.asks, a.isGranted, a.claims, a.checks); err != nil {
		return err
	}
	// A was just told that it still holds the lock, and its next step is the write.
	if err := s.steps(ctx, a.isStopped); err != nil {
		return err
	}
	b, err := s.enter(timeline.B, valueB)
	if err != nil {
		return err
	}
	defer b.quit()
	if err := s.steps(ctx, b.asks, a.expires, b.isGranted, b.claims, b.checks, b.proceeds, b.writes); err != nil {
		return err
	}
	if err := s.steps(ctx, a.isContinued, a.writes); err != nil {
		return err
	}
	if s.act.Holds, err = s.store.holds(ctx, s.act.Fence); err != nil {
		return fmt.Errorf("reading the store: %w", err)
	}
	if err := s.seen.end(s.act); err != nil {
		return err
	}
	return s.steps(ctx, a.proceeds, b.proceeds, a.dismissed, b.dismissed)
}

func (s *scene) steps(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// note writes an event down and shows it.
func (s *scene) note(e timeline.Event) error {
	if s.begin.IsZero() {
		s.begin = time.Now()
	}
	e.At = time.Since(s.begin)
	s.act.Events = append(s.act.Events, e)
	return s.seen.event(e)
}

// part is a worker in a scene. Each of its methods is one line of the timeline.
type part struct {
	*actor
	s     *scene
	value string
	key   string // of its lock, in etcd
	token fence.Token
}

func (s *scene) enter(who timeline.Who, value string) (*part, error) {
	a, err := s.hire(who, value, s.act.Fence)
	return &part{actor: a, s: s, value: value}, err
}
