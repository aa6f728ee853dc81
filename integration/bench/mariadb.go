package main

import (
	"github.com/etcdfence/etcdfence/fence/sqlfence"
	"github.com/etcdfence/etcdfence/integration/mariatest"
)

// mariadb measures the same as postgres, with the driver as its documentation asks for it.
func mariadb(h *host) {
	const parameters = "?interpolateParams=true"
	b := newBank(h, sqlfence.MySQL, "mysql", mariatest.Start(h, mariatest.WithSync()).Database(h)+parameters)
	var version string
	h.must(b.db.QueryRowContext(h.ctx, "SELECT version()").Scan(&version))
	note("MariaDB %s", version)
	m := b.measure(9, 250)
	figure("mariadb_inrow_vs_update", ratios(m[1], m[0]), goal{"<=", 1.15})
	m.note("commits wait for the disk")
	newBank(h, sqlfence.MySQL, "mysql", mariatest.Start(h).Database(h)+parameters).measure(5, 250).note("commits do not wait")
}
