// Command bench measures what the adapter and the fence cost, against the same thing
// without them, on this machine and in this run:
//
//	go run ./integration/bench
//	go run ./integration/bench -only handoff
//
// Each figure is one line, "ratio NAME VALUE goal OP NUMBER ok|short"; what is compared
// was measured in turns in one run, so that a noisy machine spoils both sides alike, and
// VALUE is the median of the rounds. Lines that begin with # say more. A figure that
// falls short of its goal is a result, not an error: the exit code is 0 if everything
// could be measured.
//
// etcd is embedded, so that as little as possible but the clients' own cost is measured;
// with -apart it runs in a process of its own. PostgreSQL is a private server from the
// installed binaries.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/server/v3/etcdmain"

	"github.com/etcdfence/etcdfence/integration/mariatest"
	"github.com/etcdfence/etcdfence/integration/pgtest"
)

// asEtcd makes this program the etcd that is linked into it.
const asEtcd = "BENCH_AS_ETCD"

var apart bool // etcd runs in a process of its own; a flag

// A group is measured together and yields one figure or more.
type group struct {
	figures []string
	run     func(h *host)
}

var groups = []group{
	{[]string{"acquire_release_vs_raw_mutex_nofsync", "acquire_release_vs_put_delete_nofsync"}, uncontended("nofsync")},
	{[]string{"acquire_release_vs_raw_mutex_fsync", "acquire_release_vs_put_delete_fsync"}, uncontended("fsync")},
	{[]string{"handoff_2_clients_vs_raw_mutex"}, handoff(2)},
	{[]string{"handoff_8_clients_vs_raw_mutex"}, handoff(8)},
	{[]string{"handoff_64_clients_vs_raw_mutex"}, handoff(64)},
	{[]string{"handoff_64_goroutines_vs_raw_sessions"}, handoffLocal},
	{[]string{"stamp_ns", "stamp_allocs"}, stamp},
	{[]string{"memory_apply_ns"}, memoryApply},
	{[]string{"postgres_inrow_vs_update", "postgres_admit_vs_transaction"}, postgres},
	{[]string{"mariadb_inrow_vs_update"}, mariadb},
	{[]string{"sqlite_inrow_vs_update", "sqlite_admit_vs_transaction"}, sqlite},
	{[]string{"postgres_16_writers_any_order_vs_transaction", "mariadb_16_writers_any_order_vs_transaction"}, writers},
	{[]string{"etcdkv_with_lock_key_vs_put"}, etcdKV},
	{[]string{"nats_cached_revision_vs_put"}, natsKV},
	{[]string{"redis_script_vs_set"}, redisScript},
	{[]string{"file_vs_rename"}, file},
	{[]string{"holds_10000_goroutines"}, holds},
}

func main() {
	if os.Getenv(asEtcd) != "" {
		etcdmain.Main(os.Args)
		return
	}
	flag.StringVar(&only, "only", "", "measure only the figures whose name contains this")
	flag.BoolVar(&apart, "apart", false, "run etcd in a process of its own")
	flag.Parse()
	os.Exit(measure())
}

func measure() (code int) {
	start := time.Now()
	where := "embedded"
	if apart {
		where = "in a process of its own"
	}
	note("%s, %s/%s, %d cores, GOMAXPROCS %d, %s, etcd %s %s", time.Now().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), runtime.GOMAXPROCS(0), runtime.Version(), version.Version, where)
	measured := 0
	for _, g := range groups {
		if !wanted(g.figures...) {
			continue
		}
		measured++
		if err := run(g.run); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", strings.Join(g.figures, ", "), err)
			code = 1
		}
	}
	if err := errors.Join(pgtest.Close(), mariatest.Close()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		code = 1
	}
	if measured == 0 {
		fmt.Fprintf(os.Stderr, "bench: no figure has %q in its name\n", only)
		code = 2
	}
	note("measured in %v", time.Since(start).Round(time.Second))
	return code
}
