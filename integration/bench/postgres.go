package main

import (
	"context"
	"database/sql"
	"errors"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
	"github.com/etcdfence/etcdfence/integration/pgtest"
)

// postgres measures the two forms of the fence against the same change without one:
// with commits that wait for the disk, which is the figure, and without.
func postgres(h *host) {
	p := newBank(h, pgtest.Start(h, pgtest.WithSync()))
	var version string
	h.must(p.db.QueryRowContext(h.ctx, "SHOW server_version").Scan(&version))
	note("PostgreSQL %s", version)
	m := p.measure(9, 250)
	figure("postgres_inrow_vs_update", ratios(m[1], m[0]), goal{"<=", 1.15})
	figure("postgres_admit_vs_transaction", ratios(m[3], m[2]), goal{"<=", 1.5})
	note("commits wait for the disk: update %v, fenced in its row %v; transaction %v, with Admit %v",
		short(median(m[0])), short(median(m[1])), short(median(m[2])), short(median(m[3])))

	m = newBank(h, pgtest.Start(h)).measure(5, 250)
	note("commits do not wait: update %v, fenced in its row %v (ratio %s); transaction %v, with Admit %v (ratio %s)",
		short(median(m[0])), short(median(m[1])), number(median(ratios(m[1], m[0]))),
		short(median(m[2])), short(median(m[3])), number(median(ratios(m[3], m[2]))))
}

// bank is a database with a table for each way to write, all with the same rows.
type bank struct {
	*host
	db    *sql.DB
	marks *sqlfence.Resource
	row   *sqlfence.InRow
	token fence.Token
	last  int64 // sequence
}

func newBank(h *host, server *pgtest.Server) *bank {
	db, err := sql.Open("pgx", server.Database(h))
	h.must(err)
	h.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1) // one connection, one writer
	b := &bank{host: h, db: db}
	b.row, err = sqlfence.NewInRow(sqlfence.Postgres, "in_row", "id")
	h.must(err)
	b.marks, err = sqlfence.New(db, sqlfence.Postgres, nil)
	h.must(err)
	h.must(b.marks.EnsureSchema(h.ctx))
	for _, table := range []string{"plain", "in_row", "plain_tx", "admit"} {
		for _, statement := range []string{
			"CREATE TABLE " + table + " (id bigint PRIMARY KEY, balance bigint NOT NULL) WITH (fillfactor = 50)",
			"INSERT INTO " + table + " SELECT n, 0 FROM generate_series(1, 1000) n",
		} {
			_, err := db.ExecContext(h.ctx, statement)
			h.must(err)
		}
	}
	_, err = db.ExecContext(h.ctx, b.row.Schema())
	h.must(err)
	b.token, err = fence.NewToken("bank", 0, 1, "owner")
	h.must(err)
	return b
}

// next is the stamp of the next write.
func (b *bank) next() fence.Stamp {
	b.last++
	return b.token.At(b.last)
}

const account = 42

func (b *bank) measure(rounds, times int) [][]time.Duration {
	return b.alternate(rounds, times,
		func() error {
			_, err := b.db.ExecContext(b.ctx, "UPDATE plain SET balance = balance + $1 WHERE id = $2", 10, account)
			return err
		},
		func() error {
			return b.row.Update(b.ctx, b.db, b.next(), account, "balance = balance + $1", 10)
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
	if _, err := tx.ExecContext(b.ctx, "UPDATE "+table+" SET balance = balance + $1 WHERE id = $2", 10, account); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return commit(tx)
}
