// Command migrate takes one job from etcd's own mutex to a fenced lock, in the steps of
// docs/migrate.md, and stalls it in each of them.
//
//	go run ./examples/migrate
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/examples/internal/localdb"
	"github.com/etcdfence/etcdfence/examples/internal/localetcd"
	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	cluster, err := localetcd.Start(ctx, 1)
	if err != nil {
		return err
	}
	defer cluster.Close()
	db, err := localdb.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Exec(ctx, `CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT NOT NULL)`,
		`INSERT INTO orders (id, status) VALUES (42, 'new')`); err != nil {
		return err
	}
	orders, err := sqlfence.New(db.DB, db.Dialect, nil)
	if err != nil {
		return err
	}
	if err := orders.EnsureSchema(ctx); err != nil {
		return err
	}
	client, err := cluster.Client(0)
	if err != nil {
		return err
	}
	locks, err := newLocks(client)
	if err != nil {
		return err
	}
	defer locks.Close()
	other, err := cluster.Client(0)
	if err != nil {
		return err
	}
	otherLocks, err := newLocks(other)
	if err != nil {
		return err
	}
	defer otherLocks.Close()

	// In each round the early worker is stalled while it computes: its lease runs out
	// and the late one does the whole job. From the fourth round on the fleet is mixed:
	// as long as one writer carries no token there is no fence, whoever else carries one.
	raw := func(slow compute) error { return before(ctx, client, db.DB, slow) }
	token := func(slow compute) error { return middle(ctx, client, orders, slow) }
	adapter := func(slow compute) error { return after(ctx, locks, orders, slow) }
	otherAdapter := func(slow compute) error { return after(ctx, otherLocks, orders, slow) }
	for _, round := range []struct {
		name        string
		early, late func(compute) error
	}{
		{"raw mutex", raw, raw},
		{"raw mutex and TokenOf", token, token},
		{"adapter", adapter, otherAdapter},
		{"TokenOf, then adapter", token, adapter},
		{"adapter, then TokenOf", adapter, token},
		{"raw, then adapter", raw, adapter},
		{"TokenOf, then raw", token, raw},
	} {
		late := round.early(func(ctx context.Context) (string, error) {
			if err := expireHolder(ctx, cluster, client); err != nil {
				return "", err
			}
			return "of the early one", round.late(at("of the late one"))
		})
		var status string
		if err := db.QueryRowContext(ctx, `SELECT status FROM orders WHERE id = 42`).Scan(&status); err != nil {
			return err
		}
		fmt.Fprintf(out, "%-22s  stalled write: %-8s  value: %s\n", round.name, answer(late), status)
	}
	return exclude(ctx, out, client, locks)
}

func newLocks(client *clientv3.Client) (*etcdfence.Adapter, error) {
	// snippet: prefix
	// A raw mutex of "/locks/orders" and the lock "orders" of this adapter are one lock.
	locks, err := etcdfence.New(client, &etcdfence.Options{Prefix: "/locks"})
	// end snippet
	return locks, err
}

// exclude shows that raw mutexes and the adapter keep each other out, on one key prefix,
// and that one order runs through the tokens of both.
func exclude(ctx context.Context, out io.Writer, client *clientv3.Client, locks *etcdfence.Adapter) error {
	session, err := concurrency.NewSession(client)
	if err != nil {
		return err
	}
	defer session.Close()
	mutex := concurrency.NewMutex(session, "/locks/orders")

	hold, err := locks.Lock(ctx, "orders")
	if err != nil {
		return err
	}
	ofAdapter := hold.Token()
	fmt.Fprintln(out, "adapter holds, raw TryLock:  ", mutex.TryLock(ctx))
	if err := hold.Release(ctx); err != nil {
		return err
	}

	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	ofRaw, err := etcdfence.TokenOf(mutex, "orders")
	if err != nil {
		return err
	}
	_, err = locks.TryLock(ctx, "orders")
	fmt.Fprintln(out, "raw holds, adapter's TryLock:", errors.Is(err, etcdfence.ErrLocked), "-", err)
	fmt.Fprintln(out, "the later hold is newer:     ", ofRaw.Compare(ofAdapter) > 0)
	return mutex.Unlock(ctx)
}

// expireHolder ends the lease of whoever holds the lock.
func expireHolder(ctx context.Context, cluster *localetcd.Cluster, client *clientv3.Client) error {
	resp, err := client.Get(ctx, "/locks/orders/", clientv3.WithFirstCreate()...)
	if err != nil {
		return err
	}
	if len(resp.Kvs) == 0 {
		return errors.New("nobody holds the lock")
	}
	return cluster.ExpireOwner(ctx, string(resp.Kvs[0].Key))
}

func at(status string) compute {
	return func(context.Context) (string, error) { return status, nil }
}

// answer is what became of a write, in a word.
func answer(err error) string {
	switch {
	case err == nil:
		return "accepted"
	case errors.Is(err, fence.ErrStale):
		return "stale" // the resource refused it
	case errors.Is(err, etcdfence.ErrLost):
		return "lost" // not even sent: the worker was told in time
	}
	return err.Error()
}
