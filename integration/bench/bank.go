package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// bank is a database with a table for each way to write, all with the same rows.
type bank struct {
	*host
	db      *sql.DB
	dialect sqlfence.Dialect
	marks   *sqlfence.Resource
	row     *sqlfence.InRow
	token   fence.Token
	last    int64 // sequence
}

func newBank(h *host, dialect sqlfence.Dialect, driver, dsn string) *bank {
	db, err := sql.Open(driver, dsn)
	h.must(err)
	h.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1) // one connection, one writer
	b := &bank{host: h, db: db, dialect: dialect}
	b.row, err = sqlfence.NewInRow(dialect, "in_row", "id")
	h.must(err)
	b.marks, err = sqlfence.New(db, dialect, nil)
	h.must(err)
	h.must(b.marks.EnsureSchema(h.ctx))
	more, rows := "", strings.Builder{}
	if dialect == sqlfence.Postgres {
		more = " WITH (fillfactor = 50)" // as the marks have
	}
	for id := range 1000 {
		fmt.Fprintf(&rows, ", (%d, 0)", id+1)
	}
	for _, table := range []string{"plain", "in_row", "plain_tx", "admit"} {
		b.exec("CREATE TABLE " + table + " (id bigint PRIMARY KEY, balance bigint NOT NULL)" + more)
		b.exec("INSERT INTO " + table + " VALUES " + rows.String()[2:])
	}
	for statement := range strings.SplitSeq(b.row.Schema(), ";") {
		if strings.TrimSpace(statement) != "" {
			b.exec(statement)
		}
	}
	b.token, err = fence.NewToken("bank", 0, 1, "owner")
	h.must(err)
	return b
}

func (b *bank) exec(statement string) {
	_, err := b.db.ExecContext(b.ctx, statement)
	b.must(err)
}

// next is the stamp of the next write.
func (b *bank) next() fence.Stamp {
	b.last++
	return b.token.At(b.last)
}

const account = 42

// sql writes the parameters $1 and $2 as the dialect does.
func (b *bank) sql(statement string) string {
	if b.dialect == sqlfence.Postgres {
		return statement
	}
	return strings.NewReplacer("$1", "?", "$2", "?").Replace(statement)
}

// costs are the medians of each round: update, the same fenced in its row, transaction,
// the same with Admit.
type costs [][]time.Duration

func (m costs) note(how string) {
	note("%s: update %v, fenced in its row %v (ratio %s); transaction %v, with Admit %v (ratio %s)", how,
		short(median(m[0])), short(median(m[1])), number(median(ratios(m[1], m[0]))),
		short(median(m[2])), short(median(m[3])), number(median(ratios(m[3], m[2]))))
}

func (b *bank) measure(rounds, times int) costs {
	return b.alternate(rounds, times,
		func() error {
			_, err := b.db.ExecContext(b.ctx, b.sql("UPDATE plain SET balance = balance + $1 WHERE id = $2"), 10, account)
			return err
		},
		func() error {
			return b.row.Update(b.ctx, b.db, b.next(), account, b.sql("balance = balance + $1"), 10)
		},
		func() error {
			return b.transaction("plain_tx", func(context.Context, *sql.Tx) error { return nil }, (*sql.Tx).Commit)
		},
		func() error {
			return b.transaction("admit",
				func(ctx context.Context, tx *sql.Tx) error { return b.marks.Admit(ctx, tx, b.next()) },
				func(tx *sql.Tx) error { return b.marks.Commit(b.ctx, tx) })
		})
}

// transaction updates one row in a transaction that begins and ends as given.
func (b *bank) transaction(table string, first func(context.Context, *sql.Tx) error, commit func(*sql.Tx) error) error {
	tx, err := b.db.BeginTx(b.ctx, nil)
	if err != nil {
		return err
	}
	if err := first(b.ctx, tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if _, err := tx.ExecContext(b.ctx, b.sql("UPDATE "+table+" SET balance = balance + $1 WHERE id = $2"), 10, account); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return commit(tx)
}
