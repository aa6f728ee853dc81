// Command mutants breaks the code on purpose, one line of a table at a time, and demands
// that the test which the table names notices:
//
//	go run ./tools/mutants                  every mutant in scripts/mutants.txt
//	go run ./tools/mutants -run release     those whose name matches
//
// It prints one line for each, "killed NAME by TestX" or "SURVIVED NAME". A mutant counts
// as killed only if the test passes without it, and with it fails by an assertion: one
// that does not compile, panics or runs into the timeout has proved nothing and is an
// error of the table. The exit code is 0 if all are killed.
//
// No file of the tree is touched and nothing is copied: the go command is given the
// broken files with -overlay. So the mutants can run while somebody edits, and share the
// build cache with everything else. What a test reads from disk by itself is not mutated.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"
)

func main() {
	table := flag.String("table", "scripts/mutants.txt", "the `file` with the mutants")
	root := flag.String("root", ".", "the `directory` that paths and packages in the table are relative to")
	run := flag.String("run", "", "only mutants whose name matches this `regexp`")
	timeout := flag.Duration("timeout", 2*time.Minute, "for the test of one mutant")
	flag.Parse()
	if err := hunt(os.Stdout, *table, *run, runner{root: *root, timeout: *timeout}); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// hunt runs the mutants whose name matches and reports each to w.
func hunt(w io.Writer, table, match string, r runner) error {
	pattern, err := regexp.Compile(match)
	if err != nil {
		return err
	}
	mutants, err := readTable(table)
	if err != nil {
		return err
	}
	var killed, survived, broken int
	for _, m := range mutants {
		if !pattern.MatchString(m.name) {
			continue
		}
		by, err := r.try(m)
		switch {
		case err == nil:
			killed++
			fmt.Fprintf(w, "killed   %s by %s\n", m.name, by)
		case errors.Is(err, errSurvived):
			survived++
			fmt.Fprintf(w, "SURVIVED %s: %s -run %s passes without it: %s\n", m.name, m.pkg, m.run, m.why)
		default:
			broken++
			fmt.Fprintf(w, "ERROR    %s: %v\n", m.name, err)
		}
	}
	fmt.Fprintf(w, "%d killed, %d survived, %d errors\n", killed, survived, broken)
	switch {
	case survived+broken > 0:
		return fmt.Errorf("not every mutant was killed")
	case killed == 0:
		return fmt.Errorf("no mutant in %s matches %q", table, match)
	}
	return nil
}
