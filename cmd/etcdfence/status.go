package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/etcdctl"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/status"
)

const statusLong = `Shows who holds the lock NAME and who waits for it, in the order of the queue; or all
locks below the prefix, if no name is given. It reads the keys in etcd, so it shows the
holders of raw mutexes, elections and "etcdctl lock" as well.

  REVISION  the create revision of the key: the token's number, for the holder
  WHO       the label that this library writes into its keys
  FOR       since the key was made, by the clock of whoever made it; keys of others do
            not say, and are counted from when --watch has seen them first
  LEFT      what is left of the lease unless it is renewed, and its length

It changes nothing, and what it shows may be outdated when you read it: it is no way to
find out whether you hold a lock.`

const statusExample = `  etcdfence status
  etcdfence status --watch orders/42
  etcdfence status --json | jq '.[] | {lock, holder: .holder.owner, waiting: (.queue | length)}'`

func newStatus() *cobra.Command {
	o := status.Options{Every: time.Second}
	var plain bool
	own := pflag.NewFlagSet("status", pflag.ContinueOnError)
	own.SortFlags = false
	own.BoolVarP(&o.Watch, "watch", "w", false, "go on, and show every change")
	own.BoolVar(&o.JSON, "json", false, "print JSON; with --watch, one line each time")
	own.BoolVar(&plain, "plain", false, "no colours, also on a terminal (as with NO_COLOR)")
	lockFlags(own, &o.Locks)
	etcd, flags := etcdctl.Add("the etcd: `host:port`,... (default 127.0.0.1:2379)")

	cmd := &cobra.Command{
		Use:     "status [flags] [NAME]",
		Short:   "Show who holds locks, and who waits",
		Long:    statusLong,
		Example: statusExample,
		Args:    atMostOneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			prefix := o.Locks.Prefix
			if len(args) > 0 {
				o.Lock = args[0]
				keys, err := o.Locks.KeyPrefix(o.Lock)
				if err != nil {
					return cli.AsUnusable(err)
				}
				prefix = keys + "/"
			} else if _, err := o.Locks.KeyPrefix("x"); err != nil {
				return cli.AsUnusable(err)
			}
			ctx, stop := cli.UntilSignal(cmd.Context())
			defer stop()
			client, err := connect(ctx, etcd, prefix)
			if err != nil {
				return err
			}
			defer client.Close()
			o.Timeout = etcd.CommandTimeout()
			o.Terminal = cli.Terminal(cmd.OutOrStdout())
			o.Colour = !plain && cli.Colour(cmd.OutOrStdout())
			err = status.Run(ctx, client, o, cmd.OutOrStdout())
			if o.Watch && errors.Is(err, cli.ErrInterrupted) {
				return nil // that is how it is meant to end
			}
			return err
		},
	}
	cli.UseGroups(cmd, cli.Group{Title: "Flags", Set: own}, cli.Group{Title: etcdFlags, Set: flags})
	return cmd
}

func atMostOneName(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return cli.Unusablef("one lock, not %d: %q (see %s --help)", len(args), args, cmd.CommandPath())
	}
	return nil
}
