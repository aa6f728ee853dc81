package redisfence

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// Rebase implements [fence.Rebaser] in one round trip. It does not mind that the mark is
// behind what this Resource has seen, and takes what there is for the newest afterwards.
// Other Resources that have seen newer ones go on to say [ErrWentBack] until they are
// opened anew. It returns [ErrForeign], [ErrDenied] and [ErrFull] besides.
func (r *Resource) Rebase(ctx context.Context, from, to fence.Stamp) error {
	if err := fence.CheckRebase(r.lock, from, to); err != nil {
		return err
	}
	a, lost, err := r.send(ctx, usual, r.newCall("rebase", to, 0, 0), nil, []any{markText(from)})
	switch {
	case errors.Is(err, ErrForeign), errors.Is(err, errAnswer):
		return r.foreign(err)
	case err != nil:
		return failure(ctx, "rebase", lost, err)
	}
	switch {
	case a.word == "ok":
		r.mu.Lock()
		r.seen = a.state
		r.mu.Unlock()
		return nil
	case !a.mark.IsZero() && a.mark.Token().Lock() != r.lock:
		return r.wrongLock(a.mark, to)
	case lost:
		return fmt.Errorf("redisfence: rebase: %w: an answer was lost, and the mark is %v", fence.ErrUnknownOutcome, a.mark)
	}
	return &fence.RefusedError{Lock: r.lock, Presented: from, Mark: a.mark, Reason: fence.ErrMoved}
}

// markText is the middle of a mark, as fence.lua compares it.
func markText(s fence.Stamp) string {
	if s.IsZero() {
		return ""
	}
	t := s.Token()
	return fmt.Sprintf("%d %d %d\n%s\n%s", t.Epoch(), t.Revision(), s.Sequence(), t.Owner(), t.Lock())
}
