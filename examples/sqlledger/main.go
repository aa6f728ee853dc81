// Command sqlledger moves money between accounts under a lock in etcd, in transactions
// that the database itself fences.
//
//	go run ./examples/sqlledger                              # SQLite, embedded etcd
//	go run ./examples/sqlledger -dsn postgres://user@host/db # makes and drops tables example_*
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"sync"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/examples/internal/localdb"
	"github.com/etcdfence/etcdfence/examples/internal/localetcd"
	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

func main() {
	dsn := flag.String("dsn", "", "a PostgreSQL `database` to use instead of SQLite")
	endpoints := flag.String("endpoints", "", "an etcd to use instead of an embedded one, `host:port,...`")
	flag.Parse()
	err := run(context.Background(), os.Stdout, *dsn, *endpoints)
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, dsn, endpoints string) error {
	cluster, err := localetcd.Open(ctx, endpoints)
	if err != nil {
		return err
	}
	defer cluster.Close()
	db, err := localdb.Open(dsn)
	if err != nil {
		return err
	}
	defer db.Close()

	ledger, err := prepare(ctx, db)
	if err != nil {
		return err
	}
	defer func() { _ = db.Exec(context.WithoutCancel(ctx), drop...) }() // the next run drops them, too
	var workers [2]*etcdfence.Adapter
	for i := range workers {
		client, err := cluster.Client(0)
		if err != nil {
			return err
		}
		workers[i], err = etcdfence.New(client, &etcdfence.Options{Prefix: "/etcdfence-example"})
		if err != nil {
			return err
		}
		defer workers[i].Close()
	}

	if err := concurrently(ctx, workers, ledger); err != nil {
		return err
	}
	if err := report(ctx, out, db, "after 40 transfers by two workers"); err != nil {
		return err
	}
	if err := stale(ctx, out, cluster, workers, db, ledger); err != nil {
		return err
	}
	if err := repeated(ctx, out, workers, ledger); err != nil {
		return err
	}
	return report(ctx, out, db, "at the end")
}

var drop = []string{
	`DROP TABLE IF EXISTS example_accounts`,
	`DROP TABLE IF EXISTS example_marks`,
	`DROP TABLE IF EXISTS example_marks_operations`,
}

// prepare starts from nothing: the marks of an earlier run would be newer than the
// revisions of a new embedded etcd, and rightly refuse all of them.
func prepare(ctx context.Context, db *localdb.DB) (*sqlfence.Resource, error) {
	err := db.Exec(ctx, append(drop,
		`CREATE TABLE example_accounts (name TEXT PRIMARY KEY, balance INTEGER NOT NULL)`,
		`INSERT INTO example_accounts (name, balance) VALUES ('alice', 100), ('bob', 100), ('carol', 100)`)...)
	if err != nil {
		return nil, err
	}
	// snippet: resource
	ledger, err := sqlfence.New(db.DB, db.Dialect, &sqlfence.Options{Table: "example_marks", Lock: "ledger"})
	if err != nil {
		return nil, err
	}
	return ledger, ledger.EnsureSchema(ctx)
	// end snippet
}

// concurrently has each worker make 20 transfers.
func concurrently(ctx context.Context, workers [2]*etcdfence.Adapter, ledger *sqlfence.Resource) error {
	var group sync.WaitGroup
	errs := make([]error, len(workers))
	routes := [][2]string{{"alice", "bob"}, {"bob", "carol"}}
	for i, locks := range workers {
		group.Go(func() {
			for range 20 {
				if errs[i] = transfer(ctx, locks, ledger, routes[i][0], routes[i][1], 1); errs[i] != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// stale lets the first worker lose its lease between its decision and its transaction.
func stale(ctx context.Context, out io.Writer, cluster *localetcd.Cluster, workers [2]*etcdfence.Adapter,
	db *localdb.DB, ledger *sqlfence.Resource) error {
	hold, err := workers[0].Lock(ctx, "ledger")
	if err != nil {
		return err
	}
	defer hold.Release(ctx)
	stamp := hold.Stamp() // ready to write, and paused

	if err := cluster.ExpireOwner(ctx, hold.Key()); err != nil {
		return err
	}
	if err := transfer(ctx, workers[1], ledger, "carol", "alice", 20); err != nil {
		return err
	}
	fmt.Fprintln(out, "the new holder moves 20 from carol to alice: ok")

	err = transferInside(ctx, db.DB, ledger, stamp, "alice", "bob", 50)
	var refused *fence.RefusedError
	if !errors.Is(err, fence.ErrStale) || !errors.As(err, &refused) {
		return fmt.Errorf("the late transfer should have been refused as stale: %v", err)
	}
	fmt.Fprintln(out, "the old holder moves 50 from alice to bob:", refused.Reason,
		"- newer:", refused.Mark.Token().Revision() > refused.Presented.Token().Revision())
	return nil
}

// repeated makes one transfer twice: the operation id is what tells, not the fence.
func repeated(ctx context.Context, out io.Writer, workers [2]*etcdfence.Adapter, ledger *sqlfence.Resource) error {
	// snippet: operation
	ctx = fence.WithOperation(ctx, "invoice-17")
	first := transfer(ctx, workers[0], ledger, "bob", "carol", 5)
	again := transfer(ctx, workers[1], ledger, "bob", "carol", 5)
	// end snippet
	if first != nil {
		return first
	}
	if !errors.Is(again, fence.ErrDuplicate) {
		return fmt.Errorf("the repeated invoice should have been a duplicate: %v", again)
	}
	fmt.Fprintln(out, "invoice-17, 5 from bob to carol: ok; once more:", fence.ErrDuplicate)
	return nil
}

func report(ctx context.Context, out io.Writer, db *localdb.DB, when string) error {
	rows, err := db.QueryContext(ctx, `SELECT name, balance FROM example_accounts ORDER BY name`)
	if err != nil {
		return err
	}
	defer rows.Close()
	sum := 0
	fmt.Fprintf(out, "%s:", when)
	for rows.Next() {
		var name string
		var balance int
		if err := rows.Scan(&name, &balance); err != nil {
			return err
		}
		sum += balance
		fmt.Fprintf(out, " %s %d,", name, balance)
	}
	fmt.Fprintf(out, " sum %d\n", sum)
	return rows.Err()
}
