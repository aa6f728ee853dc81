package etcdkv_test

import (
	"context"
	"errors"
	"testing"

	"github.com/etcdfence/etcdfence/etcdfence/etcdkv"
	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
)

// What the compares of the Txn are for: with the mark read first, judged here, and written
// together with the data in a Txn without an If, the kit finds writes that land behind a
// newer claim.
func TestKitFailsGetThenTxn(t *testing.T) {
	h := newHouse(t)
	h.wrap = func(r *etcdkv.Resource, s *subject) fence.FencedResource[*etcdkv.Tx] { return &getThenTxn{r, s} }
	err := fencetest.Check(t.Context(), h.subject)
	found := 0
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if v := (*fencetest.Violation)(nil); errors.As(e, &v) && (v.Rule == "R1" || v.Rule == "R7") {
				t.Logf("found by %s/%s: %s", v.Rule, v.Case, v.Detail)
				found++
			}
		}
	}
	if found == 0 {
		t.Fatalf("the kit did not notice: %v", err)
	}
}

type getThenTxn struct {
	*etcdkv.Resource
	s *subject
}

func (r *getThenTxn) Apply(ctx context.Context, s fence.Stamp, change func(context.Context, *etcdkv.Tx) error) error {
	mark, err := r.Mark(ctx, r.s.Lock())
	if err != nil {
		return err
	}
	if err := fence.Judge(r.s.Lock(), mark, s); err != nil {
		return err
	}
	return etcdkv.Unfenced(ctx, r.Resource, s, change)
}

func (r *getThenTxn) Claim(ctx context.Context, t fence.Token) error {
	err := r.Apply(ctx, t.At(0), func(context.Context, *etcdkv.Tx) error { return nil })
	if errors.Is(err, fence.ErrReplayed) {
		return nil
	}
	return err
}
