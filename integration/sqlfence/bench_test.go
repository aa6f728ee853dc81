package sqlfence_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/fence/sqlfence"
	"github.com/etcdfence/etcdfence/integration/pgtest"
)

// What the fence costs over the same change without it: one writer, commits that wait
// for the disk. The ways take turns, so that a noisy machine is as noisy for all, and
// medians are compared: Apply with a transaction of one update, the in-row form with that
// update by itself.
func BenchmarkCost(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		server := pgtest.Start(b, pgtest.WithSync())
		cost(b, sqlfence.Postgres, "pgx", server.Database(b))
	})
	b.Run("sqlite", func(b *testing.B) {
		cost(b, sqlfence.SQLite, "sqlite", "file:"+filepath.Join(b.TempDir(), "bench.db")+
			"?_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	})
}

func cost(b *testing.B, dialect sqlfence.Dialect, driver, dsn string) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	marks, err := sqlfence.New(db, dialect, nil)
	must(err)
	must(marks.EnsureSchema(b.Context()))
	row, err := sqlfence.NewInRow(dialect, "accounts", "id")
	must(err)
	for _, q := range []string{"CREATE TABLE accounts (id text PRIMARY KEY, value bigint)", "INSERT INTO accounts VALUES ('a', 0), ('b', 0)", row.Schema()} {
		_, err := db.ExecContext(b.Context(), q)
		must(err)
	}
	const plain = "UPDATE accounts SET value = value + 1 WHERE id = 'b'"
	update := func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, plain)
		return err
	}
	tok, sequence := token(b, 1), int64(0)
	ways := []func(ctx context.Context) error{
		func(ctx context.Context) error {
			tx, err := db.BeginTx(ctx, nil)
			must(err)
			must(update(ctx, tx))
			return tx.Commit()
		},
		func(ctx context.Context) error { return marks.Apply(ctx, tok.At(sequence), update) },
		func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, plain)
			return err
		},
		func(ctx context.Context) error {
			return row.Update(ctx, db, tok.At(sequence), "a", "value = value + 1")
		},
	}
	took := make([][]time.Duration, len(ways))
	for b.Loop() {
		sequence++
		for i, way := range ways {
			begin := time.Now()
			must(way(b.Context()))
			took[i] = append(took[i], time.Since(begin))
		}
	}
	median := func(i int) float64 {
		slices.Sort(took[i])
		return float64(took[i][len(took[i])/2])
	}
	b.ReportMetric(median(0)/1e3, "plain-us")
	b.ReportMetric(median(1)/median(0), "apply/plain")
	b.ReportMetric(median(2)/1e3, "single-us")
	b.ReportMetric(median(3)/median(2), "in-row/single")
	b.ReportMetric(0, "ns/op") // of all four together: says nothing
}
