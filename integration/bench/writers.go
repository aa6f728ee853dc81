package main

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
	"github.com/etcdfence/etcdfence/integration/mariatest"
	"github.com/etcdfence/etcdfence/integration/pgtest"
)

// writers measures how many transactions a second 16 writers of one hold make, each on a
// row of its own, with commits that wait for the disk. In any order they only share the
// mark; with a mark that each of them raises they would go one after another.
func writers(h *host) {
	pool(h, sqlfence.Postgres, "pgx", pgtest.Start(h, pgtest.WithSync()).Database(h),
		"postgres_16_writers_any_order_vs_transaction", goal{">=", 0.75})
	pool(h, sqlfence.MySQL, "mysql", mariatest.Start(h, mariatest.WithSync()).Database(h)+"?interpolateParams=true",
		"mariadb_16_writers_any_order_vs_transaction", goal{">=", 0.7})
}

func pool(h *host, dialect sqlfence.Dialect, driver, dsn, name string, g goal) {
	const count = 16
	b := newBank(h, dialect, driver, dsn)
	b.db.SetMaxOpenConns(count)
	b.db.SetMaxIdleConns(count)
	guard := func(table string, anyOrder bool) *sqlfence.Resource {
		r, err := sqlfence.New(b.db, dialect, &sqlfence.Options{Table: table, AnyOrder: anyOrder})
		h.must(err)
		h.must(r.EnsureSchema(h.ctx))
		h.must(r.Claim(h.ctx, b.token))
		return r
	}
	shared, raised := guard("shared_marks", true), guard("raised_marks", false)
	level := &sql.TxOptions{Isolation: sql.LevelReadCommitted} // the same for all
	change := func(id int) func(context.Context, *sql.Tx) error {
		return func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, b.sql("UPDATE plain_tx SET balance = balance + $1 WHERE id = $2"), 10, id)
			return err
		}
	}
	var sequence atomic.Int64
	ways := []func(id int) error{
		func(id int) error {
			tx, err := b.db.BeginTx(h.ctx, level)
			if err != nil {
				return err
			}
			if err := change(id)(h.ctx, tx); err != nil {
				return errors.Join(err, tx.Rollback())
			}
			return tx.Commit()
		},
		func(id int) error { return shared.Apply(h.ctx, b.token.At(sequence.Add(1)), change(id)) },
		func(id int) error {
			// Out of order some are refused: what is measured is how fast the row is.
			err := raised.Apply(h.ctx, b.token.At(sequence.Add(1)), change(id))
			if errors.Is(err, fence.ErrReplayed) {
				return nil
			}
			return err
		},
	}
	rates := make([][]float64, len(ways))
	for round := range 8 {
		for i := range ways {
			k := (round + i) % len(ways)
			rate := b.rate(count, 700*time.Millisecond, ways[k])
			if round > 0 { // connections and caches
				rates[k] = append(rates[k], rate)
			}
		}
	}
	relative := func(k int) (out []float64) {
		for i := range rates[k] {
			out = append(out, rates[k][i]/rates[0][i])
		}
		return out
	}
	figure(name, relative(1), g)
	note("16 writers: %.0f transactions a second, in any order %.0f, each raising the mark %.0f (%s of plain)",
		median(rates[0]), median(rates[1]), median(rates[2]), number(median(relative(2))))
}

// rate is how many times a second count goroutines do it together.
func (b *bank) rate(count int, d time.Duration, do func(id int) error) float64 {
	var done sync.WaitGroup
	var times atomic.Int64
	start := time.Now()
	for id := range count {
		done.Go(func() {
			for time.Since(start) < d {
				if err := do(id + 1); err != nil {
					b.Error(err)
					return
				}
				times.Add(1)
			}
		})
	}
	done.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return float64(times.Load()) / time.Since(start).Seconds()
}
