package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// errSurvived is returned when the test passes although the code is broken.
var errSurvived = errors.New("survived")

// runner runs the tests of mutants.
type runner struct {
	root    string
	timeout time.Duration
}

// try returns the name of the test that killed the mutant.
func (r runner) try(m mutant) (string, error) {
	root, err := filepath.Abs(r.root)
	if err != nil {
		return "", err
	}
	original := filepath.Join(root, filepath.FromSlash(m.file))
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	changed, err := m.apply(string(text))
	if err != nil {
		return "", err
	}

	healthy := r.test(root, m)
	switch {
	case healthy.passed == 0 && healthy.err == nil:
		return "", fmt.Errorf("%s has no test that matches %s", m.pkg, m.run)
	case healthy.err != nil:
		return "", fmt.Errorf("the test fails without it, too:\n%s", healthy.output)
	}

	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	flag, err := overlay(dir, original, changed)
	if err != nil {
		return "", err
	}
	return r.test(root, m, flag).verdict()
}

// overlay writes the broken file and the list that names it, both into dir, and returns
// the flag that makes the go command read it in the original's place.
func overlay(dir, original, changed string) (string, error) {
	broken := filepath.Join(dir, filepath.Base(original))
	if err := os.WriteFile(broken, []byte(changed), 0o600); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{original: broken}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return "-overlay=" + name, os.WriteFile(name, list, 0o600)
}

// outcome is what one run of go test came to.
type outcome struct {
	err     error  // of the go command
	output  []byte // for people
	passed  int
	killer  string // the first test that failed, to the subtest
	noBuild bool
	crashed bool // a panic, which is also how a timeout ends
}

func (o outcome) verdict() (string, error) {
	switch {
	case o.err == nil:
		return "", errSurvived
	case o.noBuild:
		return "", fmt.Errorf("it does not build:\n%s", o.output)
	case o.crashed:
		return "", fmt.Errorf("the test ends in a panic or its timeout, not in an assertion:\n%s", o.output)
	case o.killer == "":
		return "", fmt.Errorf("go test fails, but no test does:\n%s", o.output)
	}
	return o.killer, nil
}

// test runs the mutant's test.
func (r runner) test(root string, m mutant, flags ...string) outcome {
	args := []string{"test", "-json",
		"-vet=off", // a finding in broken code would look like a failed build
		"-timeout", r.timeout.String(), "-run", m.run}
	cmd := exec.Command("go", append(append(args, flags...), m.pkg)...)
	cmd.Dir = root
	var events, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &events, &complaint
	o := outcome{err: cmd.Run()}
	for line := range bytes.Lines(events.Bytes()) {
		o.event(line)
	}
	o.output = append(o.output, complaint.Bytes()...)
	return o
}

// event takes one line of go test -json into account.
func (o *outcome) event(line []byte) {
	var e struct{ Action, Test, Output, FailedBuild string }
	if json.Unmarshal(line, &e) != nil {
		o.output = append(o.output, line...)
		return
	}
	o.output = append(o.output, e.Output...)
	switch {
	case e.FailedBuild != "" || e.Action == "build-fail":
		o.noBuild = true
	case strings.HasPrefix(e.Output, "panic: ") || strings.HasPrefix(e.Output, "fatal error: "):
		o.crashed = true
	case e.Test != "" && e.Action == "pass":
		o.passed++
	case e.Test != "" && e.Action == "fail" && o.killer == "":
		o.killer = e.Test // a subtest ends before its parent does
	}
}
