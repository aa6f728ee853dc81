package fencetest

import (
	"context"
	"sync"
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

// grace is how long a change stays in progress for others to pass it. A resource that
// lets nobody pass costs this much in each such case; one that lets them pass is as
// fast as it is. A store that is slower than this is not seen to let them pass, which
// can hide a violation and never makes one up.
const grace = 250 * time.Millisecond

// gate keeps a change in progress.
type gate struct {
	inside, open      chan struct{}
	enter, letThrough sync.Once
}

func newGate() *gate { return &gate{inside: make(chan struct{}), open: make(chan struct{})} }

// hold waits at the gate. Only the first run of a change does: the gate stays open.
func (g *gate) hold(ctx context.Context) {
	g.enter.Do(func() { close(g.inside) })
	select {
	case <-g.open:
	case <-ctx.Done():
	}
}

func (g *gate) release() { g.letThrough.Do(func() { close(g.open) }) }

// overlap applies value with s and keeps that change in progress, after it has written,
// until meanwhile has returned or grace is over. It returns what came of s when both
// have ended. Whether the two came to overlap is up to the resource.
func (c caller[T]) overlap(s fence.Stamp, value string, meanwhile func()) (o outcome) {
	return c.overlapUntil(s, value, make(chan struct{}), meanwhile)
}

// overlapUntil is overlap, and closes ending before it lets the change go on.
func (c caller[T]) overlapUntil(s fence.Stamp, value string, ending chan struct{}, meanwhile func()) (o outcome) {
	g := newGate()
	returned := make(chan struct{})
	join := c.spawn(func() {
		defer close(returned)
		o = c.applyWith(c.ctx, s, value, func(ctx context.Context, tx T) error {
			if err := c.subject.Write(ctx, tx, value); err != nil {
				return err
			}
			g.hold(c.ctx)
			return nil
		})
	})
	defer g.release()
	select {
	case <-g.inside:
	case <-returned:
	case <-c.ctx.Done():
	}
	over := make(chan struct{})
	joinOther := c.spawn(func() {
		defer close(over)
		meanwhile()
	})
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-over:
	case <-timer.C:
	case <-c.ctx.Done():
	}
	close(ending)
	g.release()
	join()
	joinOther()
	return o
}
