package fence

import (
	"context"
	"errors"
)

// JudgeAnyOrder is [Judge] for a guard that takes the stamps of one hold in any
// order, for parallel writers: of the mark's own token every sequence is accepted,
// older and equal ones too. Generations are compared as ever. It is weaker: a write
// that is sent twice is applied twice, and one that was overtaken by another of the
// same hold still lands. Use operation ids where that matters.
//
// The mark never goes down: after an acceptance it is the later of the two stamps.
// A store may leave it at the claim, so only its token means something.
func JudgeAnyOrder(lock string, mark, s Stamp) error {
	err := Judge(lock, mark, s)
	if errors.Is(err, ErrReplayed) {
		return nil
	}
	return err
}

// AnyOrder is the same resource with a guard that takes the stamps of one hold in
// any order: see [JudgeAnyOrder].
func (m *Memory) AnyOrder() FencedResource[*MemoryTx] { return anyOrderMemory{m} }

type anyOrderMemory struct{ *Memory }

// Apply implements [FencedResource].
func (m anyOrderMemory) Apply(ctx context.Context, s Stamp, change func(context.Context, *MemoryTx) error) error {
	return m.apply(ctx, s, change, JudgeAnyOrder)
}
