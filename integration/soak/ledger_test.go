package soak_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

const lock = "counter"

// ledger is the resource, and what was seen of the grants.
type ledger struct {
	*fence.Memory

	mu     sync.Mutex
	grants []fence.Token // in the order in which the holders came in
	inside int
	worst  int
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	m, err := fence.NewMemory(lock)
	if err != nil {
		t.Fatal(err)
	}
	return &ledger{Memory: m}
}

// enter notes a grant. It is called by the holder, so the notes are in grant order if
// there is never more than one.
func (l *ledger) enter(t fence.Token) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grants = append(l.grants, t)
	l.inside++
	l.worst = max(l.worst, l.inside)
}

func (l *ledger) exit() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inside--
}

// read reads the counter, outside of any change: nothing but the lock and the claim
// keeps another holder from doing the same at the same time.
func (l *ledger) read(ctx context.Context) (int, error) {
	text, ok, err := l.Get(ctx, "n")
	if err != nil || !ok {
		return 0, err
	}
	return strconv.Atoi(text)
}

// set is the change that writes the counter.
func set(n int) func(context.Context, *fence.MemoryTx) error {
	return func(_ context.Context, tx *fence.MemoryTx) error {
		tx.Put("n", strconv.Itoa(n))
		return nil
	}
}

// verify checks what must be true after n acquisitions without a fault.
func (l *ledger) verify(t *testing.T, n int) {
	t.Helper()
	counter, err := l.read(t.Context())
	if err != nil || counter != n {
		t.Errorf("the counter is %d (%v) after %d acquisitions", counter, err, n)
	}
	if l.worst != 1 || len(l.grants) != n {
		t.Errorf("%d grants, %d holders at once at worst", len(l.grants), l.worst)
	}
	for i, g := range l.grants[1:] {
		if before := l.grants[i]; g.Compare(before) <= 0 {
			t.Fatalf("grant %d has token %v, the one before %v", i+1, g, before)
		}
	}
	mark, err := l.Mark(t.Context(), lock)
	if last := l.grants[len(l.grants)-1]; err != nil || mark != last.At(1) {
		t.Errorf("the mark is %v (%v), the last token %v", mark, err, last)
	}
}

// together runs the workers, each the given number of times, and fails the test with
// the first error of each: a refusal is one.
func together(t *testing.T, workers map[string]worker) (acquisitions int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	start := time.Now()
	var wg sync.WaitGroup
	for name, w := range workers {
		acquisitions += w.times
		wg.Go(func() {
			for i := range w.times {
				if err := w.once(ctx); err != nil {
					t.Error(fmt.Errorf("%s, acquisition %d: %w", name, i+1, err))
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d acquisitions in %v", acquisitions, time.Since(start).Round(time.Millisecond))
	return acquisitions
}

type worker struct {
	times int
	once  func(context.Context) error
}
