package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
)

// T11 (etcd 16028) with a real resource: etcd comes back from a backup, PostgreSQL does
// not. The new hold is refused and told why; an operator rebases the mark, and it goes on.
func TestRebaseHealsRollBack(t *testing.T) {
	s := newSite(t, stores[0])
	server := etcdtest.Start(t)
	early := server.Snapshot(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bound := func() (*etcdfence.Hold, *etcdfence.Bound[*sql.Tx], error) {
		locks, err := etcdfence.New(server.NewClient(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { locks.Close() })
		hold, err := locks.Lock(ctx, lock)
		if err != nil {
			t.Fatal(err)
		}
		w, err := etcdfence.Bind(ctx, hold, fence.FencedResource[*sql.Tx](s.marks))
		return hold, w, err
	}
	set := func(w *etcdfence.Bound[*sql.Tx], value int64) {
		t.Helper()
		if err := w.Apply(ctx, s.put(value)); err != nil {
			t.Fatal(err)
		}
	}

	for range 50 {
		server.Put(t, "unrelated", "")
	}
	before, w, err := bound()
	if err != nil {
		t.Fatal(err)
	}
	set(w, 1)
	if err := before.Release(ctx); err != nil {
		t.Fatal(err)
	}
	mark, err := s.marks.Mark(ctx, lock)
	if err != nil {
		t.Fatal(err)
	}

	server.RollBack(t, early)
	refused, _, err := bound()
	if !errors.Is(err, etcdfence.ErrRolledBack) || fence.SafeToRetry(err) {
		t.Fatalf("got %v, want %v", err, etcdfence.ErrRolledBack)
	}
	s.wantState(t, mark, 1)

	// Not from a mark that somebody has seen earlier, and then from the one that is there.
	to := refused.Token().At(0)
	wantRefused(t, s.marks.Rebase(ctx, token(t, 1).At(1), to), fence.ErrMoved, token(t, 1).At(1), mark)
	if err := s.marks.Rebase(ctx, mark, to); err != nil {
		t.Fatal(err)
	}
	s.wantState(t, to, 1)
	if err := refused.Release(ctx); err != nil && !errors.Is(err, etcdfence.ErrNotHeld) {
		t.Fatal(err)
	}
	after, w, err := bound()
	if err != nil {
		t.Fatalf("after the rebase: %v", err)
	}
	set(w, 2)
	if after.Token().Compare(mark.Token()) >= 0 {
		t.Fatalf("%v is not older than %v: the test proves nothing", after.Token(), mark)
	}
	s.wantState(t, after.Token().At(1), 2)
}
