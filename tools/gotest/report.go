package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is what "go test -json" writes, one a line; see "go doc test2json".
type event struct {
	Action      string
	Package     string
	Test        string // empty: about the package
	Output      string
	FailedBuild string
}

// test identifies a test, or a package if its name is empty.
type test struct{ pkg, name string }

// report turns events into lines for people, and counts.
type report struct {
	w                       io.Writer
	output                  map[test][]string // of what has not ended yet
	failedIn                map[string]int    // by package
	skips                   []string
	passed, failed, skipped int
}

func newReport(w io.Writer) *report {
	return &report{w: w, output: map[test][]string{}, failedIn: map[string]int{}}
}

func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events) // not a Scanner: a line may have any length
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(r.w, "%s", line) // the go command speaks
			} else {
				r.handle(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) handle(e event) {
	t := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.w, e.Output)
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") { // RUN, PAUSE, CONT, NAME
			r.output[t] = append(r.output[t], e.Output)
		}
	case "pass", "fail", "skip":
		if t.name == "" {
			r.packageEnded(t, e)
		} else {
			r.testEnded(t, e.Action)
		}
	}
}

func (r *report) testEnded(t test, action string) {
	switch action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		r.failedIn[t.pkg]++
		r.print(t)
	case "skip":
		r.skipped++
		r.skips = append(r.skips, t.pkg+" "+t.name)
		r.print(t)
	}
	delete(r.output, t)
}

func (r *report) packageEnded(t test, e event) {
	if e.Action == "fail" {
		// A panic or a timeout ends the process, and its tests without an event.
		var open []string
		for o := range r.output {
			if o.pkg == t.pkg && o.name != "" {
				open = append(open, o.name)
			}
		}
		slices.Sort(open)
		for _, name := range open {
			r.testEnded(test{t.pkg, name}, "fail")
		}
		if r.failedIn[t.pkg] == 0 {
			r.failed++ // it did not build, or TestMain failed
		}
	}
	for line := range strings.Lines(strings.Join(r.output[t], "")) { // a long one comes in parts
		// "PASS" says less than the "ok" that follows.
		if e.Action != "pass" || strings.HasPrefix(line, "ok ") {
			fmt.Fprint(r.w, line)
		}
	}
	delete(r.output, t)
}

func (r *report) print(t test) {
	for _, line := range r.output[t] {
		fmt.Fprint(r.w, line)
	}
}

func (r *report) summary() {
	for _, skip := range r.skips {
		fmt.Fprintf(r.w, "FAIL: skipped, and a skip proves nothing: %s\n", skip)
	}
	fmt.Fprintf(r.w, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}
