package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
)

// run executes one command line and returns the exit code. What went wrong is one
// line on stderr.
func run(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	verb, err := root.ExecuteContextC(context.Background())
	if text := cli.Message(err); text != "" {
		fmt.Fprintf(stderr, "%s: %s\n", verb.CommandPath(), text)
	}
	return cli.Code(err)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "etcdfence",
		Short: "Fenced locks in etcd",
		Long: `etcdfence is about locks in etcd whose holders carry a token, and about stores that
refuse a write with an old one. Start with the demonstration, which needs nothing:

  etcdfence demo`,
		Args:          unknownVerb,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(cmd.ErrOrStderr())
			if err := cmd.Help(); err != nil {
				return err
			}
			return cli.Unusablef("which verb? See above")
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Unusablef("%w (see %s --help)", err, cmd.CommandPath())
	})
	root.SuggestionsMinimumDistance = 2 // letters that a verb may be misspelt by
	root.AddCommand(newDemo(), newDemoWorker(), newRun(), newStatus(), newEpoch(), newCheck())
	return root
}

// unknownVerb names the verb that does not exist, and one that is like it.
func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "see " + cmd.CommandPath() + " --help"
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		hint = "did you mean " + like[0] + "?"
	}
	return cli.Unusablef("there is no verb %q (%s)", args[0], hint)
}

// noArguments is for verbs that take flags only.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cli.Unusablef("%q is not a flag (see %s --help)", args[0], cmd.CommandPath())
	}
	return nil
}
