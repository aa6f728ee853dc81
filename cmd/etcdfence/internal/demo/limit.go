package demo

import (
	"context"
	"fmt"
	"time"
)

// limit ends a story that does not come to an end by itself.
type limit struct {
	begin  time.Time
	timer  *time.Timer
	cancel context.CancelCauseFunc
	until  time.Duration
}

// bound is how long the story may take: two leases that have to run out, and generous
// time for all the rest. With the default TTL it is 10 s.
func bound(ttl time.Duration) time.Duration { return 4*time.Second + 3*ttl }

func withLimit(parent context.Context, ttl time.Duration) (context.Context, *limit) {
	ctx, cancel := context.WithCancelCause(parent)
	l := &limit{begin: time.Now(), cancel: cancel, until: bound(ttl)}
	l.timer = time.AfterFunc(l.until, l.end)
	return ctx, l
}

func (l *limit) end() { l.cancel(fmt.Errorf("it took longer than %v", l.until)) }

// allow takes a longer TTL than was asked for into account.
func (l *limit) allow(ttl time.Duration) {
	if longer := bound(ttl); longer > l.until && l.timer.Stop() {
		l.until = longer
		l.timer.Reset(longer - time.Since(l.begin))
	}
}

func (l *limit) stop() {
	l.timer.Stop()
	l.cancel(nil)
}
