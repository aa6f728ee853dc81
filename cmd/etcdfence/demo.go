package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/demo"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/etcdctl"
)

const demoLong = `Shows what a fence is for, in a few seconds and with real parts.

Two workers, A and B, are processes of their own. A lock in etcd lets in one of them
at a time. Its holder has a lease that it must renew, and a token: a number that rises
with each grant of the lock. The workers write to a store.

  1. A takes the lock, and asks etcd whether it still holds it. It does.
  2. Before it writes, A is stopped (SIGSTOP), as a collection of garbage, a debugger
     or a suspended machine stops it. Its lease runs out.
  3. etcd gives the lock to B, as it must. B writes v2.
  4. A goes on (SIGCONT). It does not know that it slept, and writes v1.

A store with a fence remembers the newest token that it has accepted, and refuses
A's write as stale. The same story with a store that takes every write ends with v1:
the newer value is lost, although both workers were told ok. No check before the write
helps, because the pause may come after the check.

The program starts an etcd of its own and keeps the store in a temporary file, and
removes both. On an etcd of yours (--endpoints, or ETCDCTL_ENDPOINTS) it makes keys
below /etcdfence-demo/ and removes them; in a PostgreSQL of yours (--store) it makes
tables whose names begin with etcdfence_demo_, and drops them.

Exit codes: 0 the stale write was refused and the contrast lost the value; 1 the story
did not come out; 2 a flag, an endpoint or a file cannot be used; 130 interrupted.`

const demoExample = `  etcdfence demo                                   # needs nothing
  etcdfence demo --svg demo.svg                    # and a picture of what happened
  etcdfence demo --html demo.html                  # to be replayed in a browser
  etcdfence demo --json | jq .stale_write_refused
  etcdfence demo --store memory --ttl 5s
  etcdfence demo --store postgres=postgres://user@host/database
  etcdfence demo --endpoints https://10.0.0.1:2379 --cacert ca.pem --user demo:secret`

func newDemo() *cobra.Command {
	var o demo.Options
	var plain bool
	own := pflag.NewFlagSet("demo", pflag.ContinueOnError)
	own.SortFlags = false
	own.StringVar(&o.Store, "store", "sqlite", "what the workers write to: `sqlite`, memory or postgres=DSN")
	own.DurationVar(&o.TTL, "ttl", 2*time.Second, "ask for leases of this length, which A then sleeps through, twice")
	own.StringVar(&o.SVG, "svg", "", "also draw the timeline into this `file`")
	own.StringVar(&o.HTML, "html", "", "also write a page into this `file` that replays the timeline step by step")
	own.BoolVar(&o.JSON, "json", false, "print one JSON object instead of text")
	own.BoolVar(&plain, "plain", false, "no colours, also on a terminal (as with NO_COLOR)")
	etcd, flags := etcdctl.Add("the etcd to use instead of one inside the program: `host:port`,...")

	cmd := &cobra.Command{
		Use:     "demo [flags]",
		Short:   "Show what a fence is for, with an etcd inside",
		Long:    demoLong,
		Example: demoExample,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := etcd.FromEnv(); err != nil {
				return cli.AsUnusable(err)
			}
			spec, given, err := etcd.Spec()
			if err != nil {
				return cli.AsUnusable(err)
			}
			if given {
				o.Etcd = spec
			}
			self, err := os.Executable()
			if err != nil {
				return cli.Unusablef("finding this program: %w", err)
			}
			o.Program = []string{self, os.Args[0]}
			o.Colour = !plain && cli.Colour(cmd.OutOrStdout())
			ctx, stop := cli.UntilSignal(cmd.Context())
			defer stop()
			return demo.Run(ctx, o, cmd.OutOrStdout())
		},
	}
	cli.UseGroups(cmd, cli.Group{Title: "Flags", Set: own},
		cli.Group{Title: "Flags for an etcd of yours, each also as a variable such as ETCDCTL_ENDPOINTS", Set: flags})
	cli.Values(cmd, "store", demo.StoreNames...)
	return cmd
}
