package fencetest_test

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/fence/fencetest"
)

// A kit that never fails anybody proves nothing. Each liar must fail the cases that
// testdata/liars.txt names and no other.
func TestLiars(t *testing.T) {
	table := readTable(t)
	results := make([]error, len(lies))
	var all sync.WaitGroup
	turns := make(chan struct{}, 12) // most of the time of each is waiting
	for i, row := range lies {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			results[i] = fencetest.Check(t.Context(), liars(20*time.Second, row.lie))
		})
	}
	all.Wait()
	for i, row := range lies {
		t.Run(row.name, func(t *testing.T) {
			want, ok := table[row.name]
			if !ok {
				t.Error("testdata/liars.txt does not say what it must fail")
			}
			failed := broken(t, results[i])
			for name, detail := range failed {
				if _, known := want[name]; !known && !want["..."] {
					t.Errorf("it fails %s, which is not about this lie: %s", name, detail)
				}
			}
			for name, must := range want {
				if must && name != "..." && failed[name] == "" {
					t.Errorf("it passes %s", name)
				}
			}
		})
	}
	if len(table) != len(lies) {
		t.Errorf("testdata/liars.txt has %d liars, want %d", len(table), len(lies))
	}
}

// readTable reads which liar fails what: its name, and below it the cases, each true
// if it must fail and false if it fails only when a race goes that way.
func readTable(t *testing.T) map[string]map[string]bool {
	t.Helper()
	text, err := os.ReadFile("testdata/liars.txt")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]map[string]bool{}
	var liar string
	for line := range strings.Lines(string(text)) {
		name, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "\t")
		switch {
		case name == "" || strings.HasPrefix(name, "#"):
		case !indented:
			liar = name
			table[liar] = map[string]bool{}
		default:
			name, may := strings.CutSuffix(name, " ?")
			table[liar][name] = !may
		}
	}
	return table
}

// broken returns the details of the violations that err joins, by case.
func broken(t *testing.T, err error) map[string]string {
	t.Helper()
	found := map[string]string{}
	var joined interface{ Unwrap() []error }
	if err == nil || !errors.As(err, &joined) {
		return found
	}
	for _, err := range joined.Unwrap() {
		var v *fencetest.Violation
		if !errors.As(err, &v) {
			t.Fatalf("not a violation: %v", err)
		}
		found[v.Rule+"/"+v.Case] = v.Detail
	}
	return found
}
