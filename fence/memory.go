package fence

import (
	"context"
	"maps"
)

// Judge is the one rule. It returns nil if a resource that is guarded by lock and
// has accepted mark must accept s, and otherwise the [*RefusedError] to answer
// with. A store decides inside its atomic step; where that step is a statement
// of its own language, Judge explains the refusal afterwards.
func Judge(lock string, mark, s Stamp) error {
	refuse := func(reason error) error {
		return &RefusedError{Lock: lock, Presented: s, Mark: mark, Reason: reason}
	}
	age := s.token.Compare(mark.token)
	switch {
	case s.IsZero():
		return refuse(ErrNoToken)
	case s.token.lock != lock:
		return refuse(ErrWrongLock)
	case age < 0:
		return refuse(ErrStale)
	case age > 0:
		return nil // a newer generation, or the first one ever: the zero mark is older than all
	case s.token.owner != mark.token.owner:
		return refuse(ErrConflict)
	case s.sequence <= mark.sequence: // equal is never newer
		return refuse(ErrReplayed)
	}
	return nil
}

// Memory is a map of strings guarded by one lock: the reference resource, for
// tests and for state that lives as long as its process. Every other resource is
// like it, but atomic by other means: here it is one critical section.
type Memory struct {
	lock string
	turn chan struct{} // holds one value while somebody is inside; a mutex that heeds a context
	mark Stamp
	data map[string]string
	done map[string]DuplicateError // by operation id
}

var _ FencedResource[*MemoryTx] = (*Memory)(nil)

// NewMemory returns an empty resource that is guarded by the named lock.
func NewMemory(lock string) (*Memory, error) {
	if err := CheckLock(lock); err != nil {
		return nil, err
	}
	return &Memory{lock: lock, turn: make(chan struct{}, 1),
		data: map[string]string{}, done: map[string]DuplicateError{}}, nil
}

// Apply implements [FencedResource].
func (m *Memory) Apply(ctx context.Context, s Stamp, change func(context.Context, *MemoryTx) error) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.leave()
	if err := Judge(m.lock, m.mark, s); err != nil {
		return err
	}
	op := OperationFrom(ctx)
	if op != nil {
		if err := op.Check(); err != nil {
			return err
		}
		if before, known := m.done[op.id]; known {
			return &before
		}
	}
	tx := MemoryTx{data: m.data}
	if err := change(ctx, &tx); err != nil {
		return err
	}
	maps.Copy(m.data, tx.staged)
	if op != nil {
		m.done[op.id] = DuplicateError{Operation: op.id, Stamp: s, Result: op.result}
	}
	m.mark = s
	return nil
}

// Claim implements [FencedResource].
func (m *Memory) Claim(ctx context.Context, t Token) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.leave()
	if t == m.mark.token && !t.IsZero() {
		return nil // claimed before
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
		return Stamp{}, &RefusedError{Lock: m.lock, Reason: ErrWrongLock}
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
		return err
	}
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Memory) leave() { <-m.turn }

// MemoryTx is what a change to a [Memory] works on. Its writes are staged until
// the change returns nil.
type MemoryTx struct {
	data, staged map[string]string
}

// Get reads a value as the change sees it, its own writes included.
func (tx *MemoryTx) Get(key string) (value string, ok bool) {
	if value, ok = tx.staged[key]; ok {
		return value, ok
	}
	value, ok = tx.data[key]
	return value, ok
}

// Put stages a write.
func (tx *MemoryTx) Put(key, value string) {
	if tx.staged == nil {
		tx.staged = map[string]string{}
	}
	tx.staged[key] = value
}
