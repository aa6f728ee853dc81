// Package boundary is the test to copy: the interleaving that a fence is for, run
// against your own resource on a real etcd. Replace newResource, write and read.
package boundary

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/examples/internal/localdb"
	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }

// snippet: interleaving
func TestLateWriteIsRefused(t *testing.T) {
	ctx := t.Context()
	server := etcdtest.Start(t)
	db, orders := newResource(t)
	link := server.Link(t) // the first worker's network
	first := newAdapter(t, link.NewClient(t))
	second := newAdapter(t, server.NewClient(t))

	// The first worker acquires, and everything it does up to the final write is done.
	old, err := first.Lock(ctx, "orders/42")
	if err != nil {
		t.Fatal(err)
	}
	late, err := etcdfence.Bind(ctx, old, orders)
	if err != nil {
		t.Fatal(err)
	}

	// It is paused: nothing passes, nothing closes. etcd gives up on it.
	link.Cut()
	server.Expire(t, old.Lease())

	// The second worker acquires. From here on the first one must not change anything,
	// also before the second one has written: acquiring claims the resource.
	hold, err := second.Lock(ctx, "orders/42")
	if err != nil {
		t.Fatal(err)
	}
	current, err := etcdfence.Bind(ctx, hold, orders)
	if err != nil {
		t.Fatal(err)
	}
	if err := late.Apply(ctx, write("too early")); !errors.Is(err, fence.ErrStale) {
		t.Fatalf("between claim and first write: %v, want stale", err)
	}
	if err := current.Apply(ctx, write("of the second")); err != nil {
		t.Fatal(err)
	}

	// The first one wakes up.
	link.Heal()
	if err := late.Apply(ctx, write("of the first")); !errors.Is(err, fence.ErrStale) {
		t.Fatalf("late write: %v, want stale", err)
	}
	if err := old.Release(ctx); !errors.Is(err, etcdfence.ErrNotHeld) {
		t.Fatalf("late release: %v, want not held", err)
	}
	if err := hold.Verify(ctx); err != nil {
		t.Fatalf("the second no longer holds: %v", err)
	}
	if got := read(t, db); got != "of the second" {
		t.Fatalf("the resource has %q", got)
	}
}

// end snippet

// snippet: repeats
func TestRepeatsAreTold(t *testing.T) {
	ctx := t.Context()
	db, orders := newResource(t)
	token, err := fence.NewToken("orders/42", 0, 7, "worker") // no etcd is needed for this
	if err != nil {
		t.Fatal(err)
	}

	// The same stamp twice: the second arrival changes nothing and is not a success.
	if err := orders.Apply(ctx, token.At(1), write("once")); err != nil {
		t.Fatal(err)
	}
	if err := orders.Apply(ctx, token.At(1), write("twice")); !errors.Is(err, fence.ErrReplayed) {
		t.Fatalf("the same stamp again: %v, want replayed", err)
	}

	// The same operation under a new stamp: the answer given before, and no change.
	paid := fence.WithOperation(ctx, "payment-9")
	if err := orders.Apply(paid, token.At(2), write("paid")); err != nil {
		t.Fatal(err)
	}
	if err := orders.Apply(paid, token.At(3), write("paid again")); !errors.Is(err, fence.ErrDuplicate) {
		t.Fatalf("the same operation again: %v, want duplicate", err)
	}

	// A known operation never lets an old generation in.
	newer, err := fence.NewToken("orders/42", 0, 8, "other worker")
	if err != nil {
		t.Fatal(err)
	}
	if err := orders.Claim(ctx, newer); err != nil {
		t.Fatal(err)
	}
	if err := orders.Apply(paid, token.At(4), write("paid late")); !errors.Is(err, fence.ErrStale) {
		t.Fatalf("a known operation of an old generation: %v, want stale", err)
	}
	if got := read(t, db); got != "paid" {
		t.Fatalf("the resource has %q", got)
	}
}

// end snippet

func newResource(t *testing.T) (*localdb.DB, *sqlfence.Resource) {
	t.Helper()
	db, err := localdb.Open("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	err = db.Exec(t.Context(), `CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT NOT NULL)`,
		`INSERT INTO orders (id, status) VALUES (42, 'new')`)
	if err != nil {
		t.Fatal(err)
	}
	orders, err := sqlfence.New(db.DB, db.Dialect, &sqlfence.Options{Lock: "orders/42"})
	if err != nil {
		t.Fatal(err)
	}
	if err := orders.EnsureSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db, orders
}

func write(status string) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE orders SET status = $1 WHERE id = 42`, status)
		return err
	}
}

func read(t *testing.T, db *localdb.DB) (status string) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `SELECT status FROM orders WHERE id = 42`).Scan(&status); err != nil {
		t.Fatal(err)
	}
	return status
}
