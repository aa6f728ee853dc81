package fencetest

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/etcdfence/etcdfence/fence"
)

// run is one case on one subject.
type run[T any] struct {
	ctx     context.Context // ends with the case
	subject Subject[T]
	log     history
	helpers sync.WaitGroup

	mu      sync.Mutex
	problem string // the first one; what follows is a consequence
}

func newRun[T any](subject Subject[T]) *run[T] { return &run[T]{subject: subject} }

// start runs the case in this goroutine and returns when all its goroutines have.
func (r *run[T]) start(ctx context.Context, c testCase[T]) {
	ctx, cancel := context.WithCancel(ctx)
	r.ctx = ctx
	defer r.helpers.Wait()
	defer cancel() // lets helpers go if the case gave up
	c.run(r)
}

func (r *run[T]) fail(detail string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.problem == "" {
		r.problem = detail
	}
}

func (r *run[T]) failure() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.problem
}

// failf ends the case, or the helper that calls it, with a violation.
func (r *run[T]) failf(format string, args ...any) {
	r.fail(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// spawn starts a helper. Wait for it with the function that comes back; if it failed
// the caller ends with it.
func (r *run[T]) spawn(f func()) (join func()) {
	ended := make(chan struct{})
	r.helpers.Go(func() {
		defer close(ended)
		var err error
		defer func() {
			if err != nil {
				r.fail(err.Error())
			}
		}()
		defer caught(&err)
		f()
	})
	return func() {
		<-ended
		if r.failure() != "" {
			runtime.Goexit()
		}
	}
}

// main is the subject's own handle, in the case's own goroutine.
func (r *run[T]) main() caller[T] {
	return caller[T]{run: r, name: "main", resource: r.subject.Resource()}
}

// callers are n parties, as far apart as the subject can have them.
func (r *run[T]) callers(n int) []caller[T] {
	all := make([]caller[T], n)
	for i := range all {
		all[i] = caller[T]{run: r, name: fmt.Sprint("party ", i+1), resource: r.subject.Resource()}
		if s, ok := r.subject.(Sharer[T]); ok && i > 0 {
			shared, err := s.Share(r.ctx)
			if err != nil {
				r.failf("Share: %v", err)
			}
			all[i].resource = shared
		}
	}
	return all
}

// token is a generation of the subject's lock.
func (r *run[T]) token(epoch, revision int64, owner string) fence.Token {
	return r.tokenOf(r.subject.Lock(), epoch, revision, owner)
}

func (r *run[T]) tokenOf(lock string, epoch, revision int64, owner string) fence.Token {
	t, err := fence.NewToken(lock, epoch, revision, owner)
	if err != nil {
		r.failf("the kit cannot make a token: %v", err)
	}
	return t
}

// at is the usual stamp: epoch 0 and one owner for each revision.
func (r *run[T]) at(revision, sequence int64) fence.Stamp {
	return r.token(0, revision, fmt.Sprint("holder ", revision)).At(sequence)
}
