package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The real go command is run on a module made for the test: what counts is its events.
func TestRun(t *testing.T) {
	const pass = "func TestPass(t *testing.T) {}\n"
	for name, c := range map[string]struct {
		tests string
		code  int
		want  []string
	}{
		"all pass":     {pass, 0, []string{"ok  \ttmp", "\n1 passed, 0 failed, 0 skipped\n"}},
		"a failure":    {pass + `func TestFail(t *testing.T) { t.Error("because") }`, 1, []string{"because", "--- FAIL: TestFail", "FAIL\ttmp", "\n1 passed, 1 failed, 0 skipped\n"}},
		"a skip":       {pass + `func TestSkip(t *testing.T) { t.Skip("no server") }`, 1, []string{"no server", "skip proves nothing: tmp TestSkip", "\n1 passed, 0 failed, 1 skipped\n"}},
		"a subtest":    {`func TestA(t *testing.T) { t.Run("b", func(t *testing.T) { t.Skip("no") }) }`, 1, []string{"tmp TestA/b", "\n1 passed, 0 failed, 1 skipped\n"}},
		"a panic":      {pass + `func TestPanic(t *testing.T) { panic("on purpose") }`, 1, []string{"on purpose", "1 passed, 1 failed, 0 skipped\n"}},
		"an exit":      {pass + `func TestMain(m *testing.M) { m.Run(); println("a leak"); os.Exit(1) }`, 1, []string{"a leak", "1 passed, 1 failed, 0 skipped\n"}},
		"a dead end":   {pass + `func TestExit(t *testing.T) { os.Exit(3) }`, 1, []string{"1 passed, 1 failed, 0 skipped\n"}},
		"no build":     {pass + `func TestX(t *testing.T) { x }`, 1, []string{"undefined: x", "[build failed]", "0 passed, 1 failed, 0 skipped\n"}},
		"nothing runs": {"", 1, []string{"0 passed, 0 failed, 0 skipped\nFAIL: no test was run\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "go.mod"), "module tmp\n\ngo 1.26\n")
			write(t, filepath.Join(dir, "tmp_test.go"), "package tmp\n\nimport (\"os\"; \"testing\")\n\nvar _ = os.Exit\nvar _ testing.TB\n\n"+c.tests)
			t.Chdir(dir)
			t.Setenv("GOWORK", "off")
			var out strings.Builder
			if code := run(&out, []string{"./..."}); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in:\n%s", want, out.String())
				}
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// test2json cuts lines of more than about a thousand bytes in parts.
func TestLongLineOfAPackage(t *testing.T) {
	var out strings.Builder
	r := newReport(&out)
	for _, part := range []string{"PASS\n", "ok  \tp\t1s\tcoverage: 1% of", " statements in q\n"} {
		r.handle(event{Action: "output", Package: "p", Output: part})
	}
	r.handle(event{Action: "pass", Package: "p"})
	if want := "ok  \tp\t1s\tcoverage: 1% of statements in q\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
