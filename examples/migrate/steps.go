package main

import (
	"context"
	"database/sql"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// compute is the slow part of the work, during which a process may be paused.
type compute func(ctx context.Context) (status string, err error)

// The first step is what many programs have: the write carries nothing by which the
// database could tell it from one of a later holder.

// snippet: before
func before(ctx context.Context, client *clientv3.Client, db *sql.DB, slow compute) error {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(10))
	if err != nil {
		return err
	}
	defer session.Close()
	mutex := concurrency.NewMutex(session, "/locks/orders")
	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	defer mutex.Unlock(context.WithoutCancel(ctx))

	status, err := slow(ctx)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `UPDATE orders SET status = $1 WHERE id = 42`, status)
	return err
}

// end snippet

// The second step keeps session, mutex and keys. Only the write changes.

// snippet: middle
func middle(ctx context.Context, client *clientv3.Client, orders *sqlfence.Resource, slow compute) error {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(10))
	if err != nil {
		return err
	}
	defer session.Close()
	mutex := concurrency.NewMutex(session, "/locks/orders")
	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	defer mutex.Unlock(context.WithoutCancel(ctx))

	token, err := etcdfence.TokenOf(mutex, "orders") // new: after Lock, before Unlock
	if err != nil {
		return err
	}
	if err := orders.Claim(ctx, token); err != nil { // new: before the first read
		return err
	}
	status, err := slow(ctx)
	if err != nil {
		return err
	}
	return orders.Apply(ctx, token.At(1), func(ctx context.Context, tx *sql.Tx) error { // new
		_, err := tx.ExecContext(ctx, `UPDATE orders SET status = $1 WHERE id = 42`, status)
		return err
	})
}

// end snippet

// The third step hands session, mutex, claim and stamps to the adapter.

// snippet: after
func after(ctx context.Context, locks *etcdfence.Adapter, orders *sqlfence.Resource, slow compute) error {
	return etcdfence.Do(ctx, locks, "orders", orders,
		func(ctx context.Context, w *etcdfence.Bound[*sql.Tx]) error {
			status, err := slow(ctx)
			if err != nil {
				return err
			}
			return w.Apply(ctx, func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, `UPDATE orders SET status = $1 WHERE id = 42`, status)
				return err
			})
		})
}

// end snippet
