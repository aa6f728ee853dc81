package fencetest

import (
	"fmt"
	"strings"
)

// Violation is one broken rule. It is the error that [Check] returns, joined with
// the others.
type Violation struct {
	Rule    string // "R1" to "R10" of fence.FencedResource, or "operation", "anyorder", "rebase"
	Case    string // the name of the case that found it, unique within the rule
	Detail  string // what happened, and what should have
	History []Call // the calls of the case, in the order in which they began
}

// Error names the rule and the case, and prints the history.
func (v *Violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s: %s", v.Rule, v.Case, v.Detail)
	calls := v.History
	if len(calls) > longest {
		fmt.Fprintf(&b, "\n    (%d earlier calls)", len(calls)-longest)
		calls = calls[len(calls)-longest:]
	}
	for _, c := range calls {
		fmt.Fprintf(&b, "\n    %v", c)
	}
	return b.String()
}

// longest is how many calls of a history are printed: the last ones broke the rule.
const longest = 80
