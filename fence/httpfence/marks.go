package httpfence

import (
	"fmt"
	"net/http"

	"github.com/etcdfence/etcdfence/fence"
)

// Marks serves the claims and the mark of a resource, which is what a [Remote] needs besides
// the handlers that [Enforce] or [HandOver] guards. It is not to be wrapped in [Handler].
//
//	mux.Handle("/fence", httpfence.Marks(accounts))
//
// PUT with a stamp of sequence 0 claims and is answered with 204. GET with the query
// "?lock=NAME" is answered with 204, and with the mark as Fence-Stamp unless nothing was
// accepted yet. Refusals are the problem details of [Answer].
func Marks[T any](r fence.FencedResource[T]) http.Handler { return marks[T]{r} }

type marks[T any] struct{ resource fence.FencedResource[T] }

// ServeHTTP implements [http.Handler].
func (m marks[T]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var err error
	switch r.Method {
	case http.MethodPut:
		err = m.claim(r)
	case http.MethodGet, http.MethodHead:
		err = m.mark(w, r)
	default:
		w.Header().Set("Allow", "GET, HEAD, PUT")
		http.Error(w, "httpfence: PUT claims, GET tells the mark", http.StatusMethodNotAllowed)
		return
	}
	switch {
	case err == nil:
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNoContent)
	case Answer(w, err):
	default:
		http.Error(w, "httpfence: the resource failed, and nothing was changed", http.StatusInternalServerError)
	}
}

func (m marks[T]) claim(r *http.Request) error {
	s, err := stamp(r.Header)
	if err != nil {
		return err
	}
	if s.Sequence() != 0 {
		return fmt.Errorf("%w: a claim has the sequence 0", fence.ErrBadToken)
	}
	return m.resource.Claim(r.Context(), s.Token())
}

func (m marks[T]) mark(w http.ResponseWriter, r *http.Request) error {
	lock := r.URL.Query().Get("lock")
	if err := fence.CheckLock(lock); err != nil {
		return err
	}
	mark, err := m.resource.Mark(r.Context(), lock)
	if err != nil || mark.IsZero() {
		return err
	}
	value, err := Value(mark)
	if err == nil {
		w.Header().Set(StampHeader, value)
	}
	return err
}
