package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Group is a part of a verb's flags with a title of its own in the help.
type Group struct {
	Title string
	Set   *pflag.FlagSet
}

// Values lets a shell complete the values of a flag that has few. Call it after
// [UseGroups].
func Values(cmd *cobra.Command, flag string, values ...string) {
	complete := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // there is no such flag: a mistake in this program
	}
}

// UseGroups gives a verb its flags, and a help that shows them by group.
func UseGroups(cmd *cobra.Command, groups ...Group) {
	for _, g := range groups {
		cmd.Flags().AddFlagSet(g.Set)
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		out := cmd.OutOrStdout()
		fmt.Fprintf(out, "%s\n\nUsage:\n  %s\n", strings.TrimSpace(cmd.Long), cmd.UseLine())
		for _, g := range groups {
			writeGroup(out, g)
		}
		if cmd.Example != "" {
			fmt.Fprintf(out, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
		}
	})
}

func writeGroup(w io.Writer, g Group) {
	fmt.Fprintf(w, "\n%s:\n%s", g.Title, g.Set.FlagUsagesWrapped(100))
}
