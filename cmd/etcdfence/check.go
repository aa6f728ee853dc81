package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/acid"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
)

const checkLong = `Presents stamps to a boundary that you have built, from outside, and says which rules hold:
newer and older generations, equal stamps, numbers beyond 2^53, the same stamp from many
senders, shuffled stamps at once, a retry after a lost reply. It OVERWRITES what the
boundary guards: use a row, a key, an object that is there for the test.

TARGET is one of

  postgres=DSN, mysql=DSN, sqlite=FILE
      with --statement, one that writes exactly one row if it accepts and none if it
      refuses. It names its parameters :epoch :revision :sequence :owner :lock :value.
      Without --statement, package sqlfence in this database, with a table of marks
      (--table, made if it is not there) and a table for the test, which is dropped.
  redis=URL
      with --script, a file with a Lua script that returns 1 if it accepts and 0 if it
      refuses; its ARGV are epoch, revision, sequence, owner, lock, value.
      Without, package redisfence, under keys for the test, which are deleted.
  http://... or https://...
      a request, whose address, --header and --body are templates: {{.Header}} (the value
      of Fence-Stamp, as package httpfence has it), {{.Stamp}} (as package fence has it),
      {{.Token}}, {{.Lock}}, {{.Epoch}}, {{.Revision}}, {{.Sequence}}, {{.Owner}}, {{.Value}}. 2xx means accepted; 400, 409,
      410, 412, 422, 428 mean refused; 425, 429, 503 mean "try again".

Give --read wherever you can: a query, a command of Redis, an address, whose answer has the
last accepted value in it. Without it nobody sees whether a refused write has an effect.

Exit codes: 0 all rules hold, as far as they could be asked; 1 some are broken; 2 the
target or a flag cannot be used; 130 interrupted.`

const checkExample = `  etcdfence check postgres=postgres://app@db/test --read 'SELECT value FROM jobs WHERE id = 1' --statement \
    'UPDATE jobs SET value = :value, rev = :revision, seq = :sequence WHERE id = 1 AND (rev, seq) < (:revision, :sequence)'
  etcdfence check redis=redis://localhost:6379 --script write.lua --key job:1 --read 'GET job:1'
  etcdfence check https://api.test/jobs/1 --read https://api.test/jobs/1 --header 'Fence-Stamp: {{.Header}}' --body '{{.Value}}'
  etcdfence check sqlite=test.db --html report.html`

func newCheck() *cobra.Command {
	var o checkOptions
	own := pflag.NewFlagSet("check", pflag.ContinueOnError)
	own.SortFlags = false
	own.StringVar(&o.statement, "statement", "", "the SQL `statement` to test")
	own.StringVar(&o.table, "table", "", "the table of marks of package sqlfence (default fence_marks)")
	own.StringVar(&o.script, "script", "", "the `file` with the Lua script to test")
	own.StringArrayVar(&o.keys, "key", nil, "a `key` for the script's KEYS; may be repeated")
	own.StringVar(&o.http.Method, "method", "PUT", "the request's method")
	own.StringArrayVar(&o.http.Headers, "header", nil, "a `header` of the request; may be repeated (default Fence-Stamp, as package httpfence has it)")
	own.StringVar(&o.http.Body, "body", "{{.Value}}", "the request's body")
	own.StringVar(&o.http.Read, "read", "", "a `query`, command or address that shows the last accepted value")
	own.StringVar(&o.run.Lock, "lock", "", "the lock that guards the boundary (default one that nobody has)")
	own.Int64Var(&o.run.Epoch, "epoch", 0, "the epoch of all tokens")
	own.Int64Var(&o.run.From, "from", 1, "the first revision: newer than all that were accepted before")
	own.IntVar(&o.run.Rounds, "rounds", 5, "how often the races are run")
	own.DurationVar(&o.run.Timeout, "timeout", 5*time.Second, "for one write or read")
	own.BoolVar(&o.json, "json", false, "print JSON instead of text")
	own.StringVar(&o.html, "html", "", "also write the report into this `file` as a page")
	own.BoolVar(&o.plain, "plain", false, "no colours and no progress, also on a terminal (as with NO_COLOR)")

	cmd := &cobra.Command{
		Use:     "check [flags] TARGET",
		Short:   "Test a boundary that somebody else has built",
		Long:    checkLong,
		Example: checkExample,
		Args:    oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := cli.UntilSignal(cmd.Context())
			defer stop()
			return o.check(ctx, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cli.UseGroups(cmd, cli.Group{Title: "Flags", Set: own})
	return cmd
}

func oneTarget(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return cli.Unusablef("which target? (see %s --help)", cmd.CommandPath())
	case len(args) > 1:
		return cli.Unusablef("one target, not %d: %q (see %s --help)", len(args), args, cmd.CommandPath())
	}
	return nil
}

type checkOptions struct {
	targetOptions
	run         acid.Options
	json, plain bool
	html        string
}

func (o checkOptions) check(ctx context.Context, target string, out, progress io.Writer) (err error) {
	if o.run.Rounds < 1 || o.run.Timeout <= 0 || o.run.From < 1 || o.run.Epoch < 0 {
		return cli.Unusablef("--rounds, --timeout and --from must be positive, and --epoch not negative")
	}
	if o.run.Lock == "" {
		o.run.Lock = "etcdfence-check-" + strings.ToLower(rand.Text()[:8])
	}
	var page *os.File
	if o.html != "" { // before the test, for somebody who has misspelt a path
		if page, err = os.Create(o.html); err != nil {
			return cli.Unusablef("--html: %w", err)
		}
		defer page.Close()
	}
	boundary, name, err := o.open(ctx, target)
	if err != nil {
		return cli.Unusablef("%s: %w", target[:max(0, strings.IndexAny(target+"=", "=:"))], err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.run.Timeout)
		defer cancel()
		if cerr := boundary.Close(ctx); cerr != nil {
			err = errors.Join(err, fmt.Errorf("cleaning up: %w", cerr))
		}
	}()
	o.run.Target = name
	if !o.plain && cli.Colour(progress) {
		o.run.Progress = func(done, all int, title string) { drawProgress(progress, done, all, title) }
	}
	report, err := acid.Run(ctx, boundary, o.run)
	if err != nil {
		if errors.Is(err, cli.ErrInterrupted) {
			return err
		}
		return cli.Unusablef("%s: %w", name, err)
	}
	if page != nil {
		if err := errors.Join(report.HTML(page), page.Close()); err != nil {
			return cli.Unusablef("--html: %w", err)
		}
	}
	if o.json {
		err = report.JSON(out)
	} else {
		err = report.Text(out, !o.plain && cli.Colour(out))
	}
	if err == nil && report.Count(acid.Broken) > 0 {
		err = &cli.ExitError{ExitCode: cli.Failed} // the report has said it
	}
	return err
}

// drawProgress draws one line over the last one, and takes it away at the end.
func drawProgress(w io.Writer, done, all int, title string) {
	if done == all {
		fmt.Fprint(w, "\r\x1b[K")
		return
	}
	const width = 20
	full := width * done / all
	fmt.Fprintf(w, "\r\x1b[K[%s%s] %d/%d %s", strings.Repeat("#", full), strings.Repeat(".", width-full), done, all, title)
}
