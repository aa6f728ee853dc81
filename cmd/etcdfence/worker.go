package main

import (
	"github.com/spf13/cobra"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/demo"
)

// newDemoWorker is the verb under which the demonstration starts this program again,
// as one of its workers.
func newDemoWorker() *cobra.Command {
	return &cobra.Command{
		Use:    demo.WorkerVerb,
		Short:  "One worker of the demonstration; it takes its job from the standard input",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo.Work(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
