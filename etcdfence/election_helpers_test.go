package etcdfence_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

func campaign(t testing.TB, a *etcdfence.Adapter, name, value string) *etcdfence.Leadership {
	t.Helper()
	l, err := a.Campaign(within(t, 20*time.Second), name, value)
	if err != nil {
		t.Fatalf("Campaign(%q, %q): %v", name, value, err)
	}
	return l
}

func proclaim(t testing.TB, l *etcdfence.Leadership, value string) {
	t.Helper()
	if err := l.Proclaim(within(t, 20*time.Second), value); err != nil {
		t.Fatalf("Proclaim(%q): %v", value, err)
	}
}

// running is a function in the background that returns an error.
type running struct {
	done chan struct{}
	err  error
}

func runLater(t testing.TB, f func() error) *running {
	r := &running{done: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(r.done)
		r.err = f()
	})
	t.Cleanup(wg.Wait)
	return r
}

func (r *running) wait(t testing.TB) error {
	t.Helper()
	await(t, r.done)
	return r.err
}

// await waits for an event that must come.
func await[T any](t testing.TB, event <-chan T) T {
	t.Helper()
	select {
	case v := <-event:
		return v
	case <-within(t, 20*time.Second).Done():
		t.Fatal("waited for 20 s")
		panic("not reached")
	}
}

// seen is what an onlooker was told last.
type seen struct {
	etcdfence.Leader
	err error
}

// nobody is how the tests write a vacancy.
const nobody = "-"

func (s seen) String() string {
	switch {
	case errors.Is(s.err, etcdfence.ErrNoLeader):
		return nobody
	case s.err != nil:
		return s.err.Error()
	}
	return s.Value
}

// onlooker is a loop over Observe in the background.
type onlooker struct {
	news chan seen // closed at the end
	stop context.CancelFunc
}

func observe(t testing.TB, a *etcdfence.Adapter, name string) *onlooker {
	ctx, cancel := context.WithCancel(context.Background())
	o := &onlooker{news: make(chan seen), stop: cancel}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(o.news)
		for leader, err := range a.Observe(ctx, name) {
			select {
			case o.news <- seen{leader, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return o
}

// hears checks that the next news are these, and returns the last.
func (o *onlooker) hears(t testing.TB, want ...string) (last seen) {
	t.Helper()
	for _, w := range want {
		last = await(t, o.news)
		if last.String() != w {
			t.Fatalf("the onlooker was told %q, want %q", last, w)
		}
	}
	return last
}

// hearsAtLast lets news pass until these come.
func (o *onlooker) hearsAtLast(t testing.TB, want string) {
	t.Helper()
	for {
		news := await(t, o.news)
		if news.String() == want {
			return
		}
		if news.err != nil && news.String() != nobody {
			t.Fatalf("the onlooker was told %v, want %q", news, want)
		}
		t.Logf("passed: %v", news)
	}
}

// session is one of etcd's own, closed with the test.
func session(t testing.TB, s *etcdtest.Server) *concurrency.Session {
	t.Helper()
	raw, err := concurrency.NewSession(s.NewClient(t), concurrency.WithTTL(10))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() }) // a test may have revoked the lease
	return raw
}
