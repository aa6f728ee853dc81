package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

var errFunds = errors.New("not enough money")

// snippet: transfer

// transfer moves money under the lock "ledger". The database refuses it if a newer
// holder has claimed the ledger since, however late the transaction arrives.
func transfer(ctx context.Context, locks *etcdfence.Adapter, ledger *sqlfence.Resource,
	from, to string, amount int) error {
	return etcdfence.Do(ctx, locks, "ledger", ledger,
		func(ctx context.Context, w *etcdfence.Bound[*sql.Tx]) error {
			return w.Apply(ctx, func(ctx context.Context, tx *sql.Tx) error {
				return move(ctx, tx, from, to, amount)
			})
		})
}

// end snippet

// move is the change itself: plain SQL in the fenced transaction. It may run more than
// once, so it touches nothing but tx.
func move(ctx context.Context, tx *sql.Tx, from, to string, amount int) error {
	var balance int
	err := tx.QueryRowContext(ctx, `SELECT balance FROM example_accounts WHERE name = $1`, from).Scan(&balance)
	if err != nil {
		return err
	}
	if balance < amount {
		return fmt.Errorf("%w: %s has %d", errFunds, from, balance)
	}
	for name, change := range map[string]int{from: -amount, to: amount} {
		if _, err := tx.ExecContext(ctx,
			`UPDATE example_accounts SET balance = balance + $1 WHERE name = $2`, change, name); err != nil {
			return err
		}
	}
	return nil
}

// snippet: admit

// transferInside is for code that has its own transactions: Admit is the first
// statement, Commit the last, and everything between them is fenced.
func transferInside(ctx context.Context, db *sql.DB, ledger *sqlfence.Resource, stamp fence.Stamp,
	from, to string, amount int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := ledger.Admit(ctx, tx, stamp); err != nil {
		return err
	}
	if err := move(ctx, tx, from, to, amount); err != nil {
		return err
	}
	return ledger.Commit(ctx, tx)
}

// end snippet
