package main

import (
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// sqlite measures the same as postgres.
func sqlite(h *host) {
	open := func(synchronous string) *bank {
		return newBank(h, sqlfence.SQLite, "sqlite", "file:"+filepath.Join(h.TempDir(), "bench.db")+
			"?_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=journal_mode(wal)&_pragma=synchronous("+synchronous+")")
	}
	b := open("full")
	var version string
	h.must(b.db.QueryRowContext(h.ctx, "SELECT sqlite_version()").Scan(&version))
	note("SQLite %s", version)
	m := b.measure(9, 250)
	figure("sqlite_inrow_vs_update", ratios(m[1], m[0]), goal{"<=", 1.15})
	figure("sqlite_admit_vs_transaction", ratios(m[3], m[2]), goal{"<=", 1.6})
	m.note("commits wait for the disk")
	open("normal").measure(5, 250).note("commits do not wait")
}
