package fencetest_test

import (
	"context"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
)

// memory is the subject of the reference resource. It has every power that does not
// need a disk.
type memory struct{ *fence.Memory }

func newMemory(context.Context) (fencetest.Subject[*fence.MemoryTx], error) {
	m, err := fence.NewMemory("orders/42")
	return memory{m}, err
}

func (m memory) Resource() fence.FencedResource[*fence.MemoryTx] { return m.Memory }

func (m memory) Lock() string { return "orders/42" }

func (m memory) Write(_ context.Context, tx *fence.MemoryTx, value string) error {
	tx.Put("value", value)
	return nil
}

func (m memory) Read(ctx context.Context) (string, error) {
	value, _, err := m.Get(ctx, "value")
	return value, err
}

func (m memory) Close() error { return nil }

func (m memory) Share(context.Context) (fence.FencedResource[*fence.MemoryTx], error) {
	return m.Memory, nil
}

func (m memory) AnyOrder(context.Context) (fence.FencedResource[*fence.MemoryTx], error) {
	return m.Memory.AnyOrder(), nil
}

func (m memory) Operations() {}

func TestMemory(t *testing.T) { fencetest.Run(t, newMemory) }
