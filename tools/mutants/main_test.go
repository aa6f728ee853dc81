package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// project is what the mutants of these tests are made of.
var project = map[string]string{
	"go.mod": "module tmp\n\ngo 1.26\n",
	"p.go":   "package p\n\nimport _ \"embed\"\n\n//go:embed rule.txt\nvar rule string\n\nfunc older(a, b int) bool { return a < b }\n",
	"p_test.go": "package p\n\nimport \"testing\"\n\n" +
		"func TestOlder(t *testing.T) { t.Run(\"equal\", func(t *testing.T) { if older(1, 1) { t.Error(\"equal is older\") } }) }\n" +
		"func TestBlind(t *testing.T) { older(1, 1) }\n" +
		"func TestBroken(t *testing.T) { t.Error(\"always\") }\n" +
		"func TestRule(t *testing.T) { if rule != \"strict\\n\" { t.Error(rule) } }\n",
	"rule.txt": "strict\n",
}

// row is an entry of the table.
func row(name, file, test, search, replace string) string {
	return "mutant " + name + "\nwhy    because\nfile   " + file + "\ntest   . " + test +
		"\n--- search\n" + search + "\n--- replace\n" + replace + "\n--- end\n\n"
}

// try hunts the mutants of a table in a fresh copy of the project.
func try(t *testing.T, table, match string) (report string, err error) {
	t.Helper()
	root := t.TempDir()
	for name, text := range project {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "table")
	if err := os.WriteFile(file, []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOWORK", "off")
	var out strings.Builder
	err = hunt(&out, file, match, runner{root: root, timeout: time.Minute})
	for name, text := range project {
		if now, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(now) != text {
			t.Errorf("%s was touched: %v", name, err)
		}
	}
	return out.String(), err
}

func TestHunt(t *testing.T) {
	for name, c := range map[string]struct {
		row, want string
		killed    bool
	}{
		"killed":      {row("m", "p.go", "TestOlder", "a < b", "a <= b"), "killed   m by TestOlder/equal\n", true},
		"embedded":    {row("m", "rule.txt", "TestRule", "strict", "lax"), "killed   m by TestRule\n", true},
		"survived":    {row("m", "p.go", "TestBlind", "a < b", "a <= b"), "SURVIVED m: . -run TestBlind passes without it: because\n", false},
		"moved away":  {row("m", "p.go", "TestOlder", "a > b", "a >= b"), "ERROR    m: p.go has this text 0 times, not once:\na > b\n", false},
		"ambiguous":   {row("m", "p.go", "TestOlder", "a", "b"), "not once:\na\n", false},
		"no file":     {row("m", "q.go", "TestOlder", "a", "b"), "no such file", false},
		"no build":    {row("m", "p.go", "TestOlder", "a < b", "a ! b"), "ERROR    m: it does not build:\n", false},
		"panics":      {row("m", "p.go", "TestOlder", "return a < b", `panic("no")`), "ends in a panic or its timeout", false},
		"no test":     {row("m", "p.go", "TestNobody", "a < b", "a <= b"), ". has no test that matches TestNobody\n", false},
		"fails alone": {row("m", "p.go", "TestBroken", "a < b", "a <= b"), "the test fails without it, too:\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := try(t, c.row, "")
			if (err == nil) != c.killed || !strings.Contains(report, c.want) {
				t.Errorf("error %v, want %q in\n%s", err, c.want, report)
			}
		})
	}
}

// One survivor among many fails the whole, and so does a name that matches nothing.
func TestHuntAll(t *testing.T) {
	table := row("dies", "p.go", "TestOlder", "a < b", "a <= b") + row("lives", "p.go", "TestBlind", "a < b", "a <= b")
	report, err := try(t, table, "")
	if err == nil || !strings.HasSuffix(report, "\n1 killed, 1 survived, 0 errors\n") {
		t.Errorf("error %v\n%s", err, report)
	}
	if report, err := try(t, table, "dies"); err != nil || !strings.HasSuffix(report, "\n1 killed, 0 survived, 0 errors\n") {
		t.Errorf("only one: error %v\n%s", err, report)
	}
	if _, err := try(t, table, "nobody"); err == nil || !strings.Contains(err.Error(), `matches "nobody"`) {
		t.Errorf("none: error %v", err)
	}
	if _, err := try(t, table, "("); err == nil {
		t.Error("a bad regexp is no error")
	}
}

// A table that says something else than its author thinks is worse than none.
func TestTableErrors(t *testing.T) {
	good := row("m", "p.go", "TestOlder", "a < b", "a <= b")
	for name, c := range map[string]struct{ table, want string }{
		"twice":           {good + good, "two mutants are called m"},
		"no end":          {strings.Replace(good, "--- end\n", "", 1), `no "--- end"`},
		"no search":       {strings.Replace(good, "--- search\na < b\n", "", 1), "out of order"},
		"empty search":    {strings.Replace(good, "a < b\n", "", 1), "nothing to search for"},
		"changes nothing": {strings.Replace(good, "a <= b", "a < b", 1), "replaces the text with itself"},
		"no reason":       {strings.Replace(good, "why    because\n", "", 1), "wants why, file, test"},
		"no edit":         {"mutant m\nwhy x\nfile p.go\ntest . T\n", "wants why, file, test, and a search"},
		"no package":      {strings.Replace(good, "test   . T", "test   T", 1), "a package and a regexp"},
		"no value":        {"mutant\n", `"mutant" has no value`},
		"unknown":         {strings.Replace(good, "why ", "how ", 1), `unknown key "how"`},
		"before":          {"why x\n", "before the first mutant"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := try(t, c.table, ""); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	if err := hunt(&strings.Builder{}, filepath.Join(t.TempDir(), "none"), "", runner{}); err == nil {
		t.Error("a table that is not there is no error")
	}
}
