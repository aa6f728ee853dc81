package main

import (
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/etcdfence/etcdfence/fence/sqlfence"
	"github.com/etcdfence/etcdfence/integration/pgtest"
)

// postgres measures the two forms of the fence against the same change without one:
// with commits that wait for the disk, which is the figure, and without.
func postgres(h *host) {
	p := newBank(h, sqlfence.Postgres, "pgx", pgtest.Start(h, pgtest.WithSync()).Database(h))
	var version string
	h.must(p.db.QueryRowContext(h.ctx, "SHOW server_version").Scan(&version))
	note("PostgreSQL %s", version)
	m := p.measure(9, 250)
	figure("postgres_inrow_vs_update", ratios(m[1], m[0]), goal{"<=", 1.10})
	figure("postgres_admit_vs_transaction", ratios(m[3], m[2]), goal{"<=", 1.25})
	m.note("commits wait for the disk")
	newBank(h, sqlfence.Postgres, "pgx", pgtest.Start(h).Database(h)).measure(5, 250).note("commits do not wait")
}
