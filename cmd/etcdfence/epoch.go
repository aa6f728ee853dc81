package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/epoch"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/etcdctl"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/marks"
)

const epochLong = `Compares the marks of your stores with etcd's revision, and says what to do.

A token is the create revision of a key in etcd. When etcd is restored from a backup its
revision goes back, and its cluster id may stay the same: no client can tell. The stores
keep their marks, so they refuse every new holder. That is safe, and it stops the work
until the epoch is raised, a number that stands before the revision in every comparison.

It reads the tables of package sqlfence. It changes nothing.

Exit codes: 0 the next holders are accepted, as far as was looked at; 1 they are refused;
2 a flag, an endpoint or a store cannot be used.`

const epochExample = `  etcdfence epoch --marks postgres=postgres://app@db/bank
  etcdfence epoch --epoch 1 --marks sqlite=/var/lib/app/state.db --marks mysql='app@tcp(db:3306)/shop'
  etcdfence epoch --json --marks postgres=service=bank | jq .raise_epoch_to`

func newEpoch() *cobra.Command {
	var o epoch.Options
	own := pflag.NewFlagSet("epoch", pflag.ContinueOnError)
	own.SortFlags = false
	own.StringArrayVar(&o.Stores, "marks", nil, "a `store` to look at: postgres=DSN, mysql=DSN or sqlite=FILE; may be repeated")
	own.StringVar(&o.Table, "table", "", "the table of marks (default fence_marks)")
	own.Int64Var(&o.Epoch, "epoch", 0, "the epoch that your programs use")
	own.BoolVar(&o.JSON, "json", false, "print JSON instead of text")
	etcd, flags := etcdctl.Add("the etcd: `host:port`,... (default 127.0.0.1:2379)")

	cmd := &cobra.Command{
		Use:     "epoch [flags]",
		Short:   "Find out whether a restored etcd shuts out its holders",
		Long:    epochLong,
		Example: epochExample,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Epoch < 0 {
				return cli.AsUnusable(errors.New("--epoch cannot be negative"))
			}
			ctx, stop := cli.UntilSignal(cmd.Context())
			defer stop()
			client, err := connect(ctx, etcd, "\x00")
			if err != nil {
				return err
			}
			defer client.Close()
			o.Timeout = etcd.CommandTimeout()
			return epoch.Run(ctx, client, o, cmd.OutOrStdout())
		},
	}
	cli.UseGroups(cmd, cli.Group{Title: "Flags", Set: own}, cli.Group{Title: etcdFlags, Set: flags})
	cli.Values(cmd, "marks", marks.Kinds...)
	return cmd
}
