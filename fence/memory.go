package fence

import (
	"bytes"
	"context"
	"fmt"
)

// Judge is the one rule. It returns nil if a resource that is guarded by lock and
// has accepted mark must accept s, and otherwise the [*RefusedError] to answer
// with. The mark is zero, or of the same lock. A store decides inside its atomic
// step; where that step is a statement of its own language, Judge explains the
// refusal afterwards.
func Judge(lock string, mark, s Stamp) error {
	age := s.token.Compare(mark.token)
	var reason error
	switch {
	case s.IsZero():
		reason = ErrNoToken
	case s.token.lock != lock:
		reason = ErrWrongLock
	case age < 0:
		reason = ErrStale
	case age > 0:
		return nil // a newer generation, or the first one ever: the zero mark is older than all
	case s.token.owner != mark.token.owner:
		reason = ErrConflict // whatever its sequence: it counts another history
	case s.sequence <= mark.sequence: // equal is never newer
		reason = ErrReplayed
	default:
		return nil
	}
	return &RefusedError{Lock: lock, Presented: s, Mark: mark, Reason: reason}
}

// Memory is a map of strings guarded by one lock: the reference resource, for
// tests and for state that lives as long as its process. Every other resource is
// like it, but atomic by other means: here it is one critical section. Make one
// with [NewMemory]; it must not be copied.
type Memory struct {
	lock string
	turn chan struct{} // holds one value while somebody is inside; a mutex that heeds a context
	mark Stamp
	data map[string]string
	done map[string]DuplicateError // by operation id
}

var _ FencedResource[*MemoryTx] = (*Memory)(nil)

// NewMemory returns an empty resource that is guarded by the named lock, or
// [ErrBadToken] for a name that cannot be one.
func NewMemory(lock string) (*Memory, error) {
	if err := CheckLock(lock); err != nil {
		return nil, err
	}
	return &Memory{lock: lock, turn: make(chan struct{}, 1),
		data: map[string]string{}, done: map[string]DuplicateError{}}, nil
}

// Apply implements [FencedResource]. It waits for whoever is inside, so a change
// must not call the Memory it is a change of. If ctx ends during that wait its
// error comes back and nothing was applied. If change panics, nothing was applied.
func (m *Memory) Apply(ctx context.Context, s Stamp, change func(context.Context, *MemoryTx) error) error {
	return m.apply(ctx, s, change, Judge)
}

func (m *Memory) apply(ctx context.Context, s Stamp, change func(context.Context, *MemoryTx) error,
	judge func(lock string, mark, s Stamp) error) error {
	op := OperationFrom(ctx)
	if op != nil {
		if err := op.Check(); err != nil {
			return err
		}
	}
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.leave()
	if err := judge(m.lock, m.mark, s); err != nil {
		return err
	}
	if op != nil {
		if before, known := m.done[op.id]; known {
			before.Result = bytes.Clone(before.Result)
			return &before
		}
		op.SetResult(nil) // an earlier attempt that failed must not leave its answer behind
	}
	tx := MemoryTx{data: m.data}
	if err := change(ctx, &tx); err != nil {
		return err
	}
	for _, w := range tx.staged {
		m.data[w.key] = w.value
	}
	if op != nil {
		m.done[op.id] = DuplicateError{Operation: op.id, Stamp: s, Result: op.Result()}
	}
	if m.mark.Compare(s) < 0 { // always, but in any order
		m.mark = s
	}
	return nil
}

// Claim implements [FencedResource].
func (m *Memory) Claim(ctx context.Context, t Token) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.leave()
	if !t.IsZero() && t == m.mark.token {
		return nil // claimed before, or written already: the mark is where it must be
	}
	if err := Judge(m.lock, m.mark, t.At(0)); err != nil {
		return err
	}
	m.mark = t.At(0)
	return nil
}

// Mark implements [FencedResource].
func (m *Memory) Mark(ctx context.Context, lock string) (Stamp, error) {
	if lock != m.lock {
		return Stamp{}, fmt.Errorf("mark of %q: %w", lock, &RefusedError{Lock: m.lock, Reason: ErrWrongLock})
	}
	if err := m.enter(ctx); err != nil {
		return Stamp{}, err
	}
	defer m.leave()
	return m.mark, nil
}

// Get reads one value without a fence, and whether it is there.
func (m *Memory) Get(ctx context.Context, key string) (value string, ok bool, err error) {
	if err := m.enter(ctx); err != nil {
		return "", false, err
	}
	defer m.leave()
	value, ok = m.data[key]
	return value, ok, nil
}

func (m *Memory) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err // also when nobody is inside: select alone would toss a coin
	}
	select {
	case m.turn <- struct{}{}:
		return nil
	default: // somebody is inside
	}
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Memory) leave() { <-m.turn }
