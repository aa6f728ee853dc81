package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/etcdctl"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/runner"
)

const runLong = `Runs a command while a lock in etcd is held, such as a job of cron that must not run
twice at a time. For a NAME without a slash the key is that of "etcdctl lock NAME", and
the two exclude each other; for jobs/a it is that of "etcdctl lock jobs%2Fa".

The command finds the token of its hold in the environment, to present it to what it
writes to:

  ETCDFENCE_LOCK, ETCDFENCE_EPOCH, ETCDFENCE_REVISION, ETCDFENCE_OWNER   its parts
  ETCDFENCE_TOKEN   the whole token in one line, as package fence reads it
  ETCDFENCE_HEADER  the token and the sequence 1, for a command that writes once: the
                    value of the HTTP header Fence-Stamp

If the lock is lost (the lease has run out, etcd cannot be reached, somebody has deleted
the key), the command is sent SIGTERM, a margin before etcd may give the lock to another,
and SIGKILL after --grace. That makes it likely that it has ended in time, and cannot
make it sure: a machine may stall at any moment. What a late write does is up to the
store, which refuses it if it is given the token.

Signals are passed on to the command: to all of its process group, or, with a terminal as
the input, to the command alone. The lock is released when the command has ended, also
if processes that it has started go on.

Exit codes: the command's own; 128 and the number of the signal that ended it; 121 the lock
was not acquired; 122 it was lost while the command ran; 126 or 127 the command cannot be
started; 2 a flag or an endpoint cannot be used.`

const runExample = `  etcdfence run nightly-report -- ./report.sh
  etcdfence run --try nightly-report -- ./report.sh    # or exit with 121 at once
  etcdfence run --wait 5m --ttl 30s import -- psql -v token="$ETCDFENCE_TOKEN" -f import.sql
  etcdfence run import -- sh -c 'curl -X PUT -H "Fence-Stamp: $ETCDFENCE_HEADER" -d @data https://...'`

func newRun() *cobra.Command {
	var o runner.Options
	own := pflag.NewFlagSet("run", pflag.ContinueOnError)
	own.SortFlags = false
	own.BoolVar(&o.Try, "try", false, "do not wait if the lock is in use")
	own.DurationVar(&o.Wait, "wait", 0, "wait at most so long; 0 means for ever")
	own.DurationVar(&o.Grace, "grace", 10*time.Second, "after a loss, the time between SIGTERM and SIGKILL")
	own.BoolVarP(&o.Verbose, "verbose", "v", false, "say when the lock is held")
	lockFlags(own, &o.Locks)
	own.StringVar(&o.Locks.Owner, "owner", "", "a `label` that tells others who holds (default host:pid)")
	own.DurationVar(&o.Locks.TTL, "ttl", 10*time.Second, "ask for a lease of this length")
	own.DurationVar(&o.Locks.Margin, "margin", 0, "how long before the lease's end the hold counts as lost (default a tenth of it)")
	etcd, flags := etcdctl.Add("the etcd: `host:port`,... (default 127.0.0.1:2379)")

	cmd := &cobra.Command{
		Use:     "run [flags] NAME -- COMMAND [ARG...]",
		Short:   "Run a command while a lock is held",
		Long:    runLong,
		Example: runExample,
		Args:    nameAndCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Try && o.Wait != 0 {
				return cli.Unusablef("--try does not wait: leave out --wait")
			}
			if o.Wait < 0 || o.Grace < 0 {
				return cli.Unusablef("--wait and --grace cannot be negative")
			}
			o.Lock, o.Command = args[0], args[1:]
			keys, err := o.Locks.KeyPrefix(o.Lock)
			if err != nil {
				return cli.AsUnusable(err)
			}
			client, err := connect(cmd.Context(), etcd, keys+"/")
			if err != nil {
				return err
			}
			defer client.Close()
			return runner.Run(cmd.Context(), client, o, cmd.ErrOrStderr())
		},
	}
	cli.UseGroups(cmd, cli.Group{Title: "Flags", Set: own}, cli.Group{Title: etcdFlags, Set: flags})
	return cmd
}

// nameAndCommand wants the two dashes, so that a flag of the command is never taken for
// one of ours.
func nameAndCommand(cmd *cobra.Command, args []string) error {
	switch dash := cmd.ArgsLenAtDash(); {
	case len(args) == 0 || dash == 0:
		return cli.Unusablef("which lock? (see %s --help)", cmd.CommandPath())
	case dash < 0:
		return cli.Unusablef("put -- between the lock's name and the command (see %s --help)", cmd.CommandPath())
	case dash > 1:
		return cli.Unusablef("one lock, not %d: %q (see %s --help)", dash, args[:dash], cmd.CommandPath())
	case len(args) == 1:
		return cli.Unusablef("which command? (see %s --help)", cmd.CommandPath())
	}
	return nil
}
