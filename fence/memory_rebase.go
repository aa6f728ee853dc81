package fence

import (
	"context"
	"fmt"
)

var _ Rebaser = (*Memory)(nil)

// Rebase implements [Rebaser].
func (m *Memory) Rebase(ctx context.Context, from, to Stamp) error {
	if err := CheckRebase(m.lock, from, to); err != nil {
		return err
	}
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.leave()
	if m.mark != from {
		return &RefusedError{Lock: m.lock, Presented: from, Mark: m.mark, Reason: ErrMoved}
	}
	m.mark = to
	return nil
}

// CheckRebase returns the error for a rebase that no store may carry out: see
// [Rebaser]. A [Rebaser] calls it before anything else, with the lock that guards it.
func CheckRebase(lock string, from, to Stamp) error {
	switch {
	case to.IsZero():
		return fmt.Errorf("%w: a rebase needs a stamp to go to", ErrBadToken)
	case !from.IsZero() && from.token.lock != to.token.lock:
		return fmt.Errorf("%w: a rebase from %v to %v", ErrBadToken, from, to)
	case to.token.lock != lock:
		return &RefusedError{Lock: lock, Presented: to, Reason: ErrWrongLock}
	}
	return nil
}
