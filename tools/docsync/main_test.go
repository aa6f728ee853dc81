package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const source = `package p

// snippet: whole

// F is documented.
func F() {
	// snippet: inner
	a := 1

	if a > 0 {
		return
	}
	// end snippet
}

// snippet: open
`

// tree writes files below a new directory and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func docsync(root string, write bool) (string, int) {
	var out strings.Builder
	code := run(&out, root, write)
	return out.String(), code
}

func TestRewrite(t *testing.T) {
	const before = "# T\n\n<!-- snippet: p.go#inner -->\n```go\nold\n```\n\n1. in a list\n\n" +
		"   <!-- output: out.txt -->\n   ```text\n   ```\n\n<!-- snippet: q.sql#step -->\n~~~sql\n~~~\n" +
		"\nHow it is written:\n\n````\n<!-- snippet: nowhere.go#x -->\n```\n```\n````\n"
	const after = "# T\n\n<!-- snippet: p.go#inner -->\n```go\na := 1\n\nif a > 0 {\n\treturn\n}\n```\n\n1. in a list\n\n" +
		"   <!-- output: out.txt -->\n   ```text\n   one\n     two\n   ```\n\n<!-- snippet: q.sql#step -->\n~~~sql\nSELECT 1\n~~~\n" +
		"\nHow it is written:\n\n````\n<!-- snippet: nowhere.go#x -->\n```\n```\n````\n"
	root := tree(t, map[string]string{
		"docs/a.md":       before,
		"p.go":            source,
		"out.txt":         "one\n  two\n",
		"q.sql":           "-- snippet: step\nSELECT 1\n-- end snippet\nSELECT 2\n",
		"bin/ignored.md":  "[x](nowhere)",
		".git/ignored.md": "[x](nowhere)",
	})

	out, code := docsync(root, false)
	want := "docs/a.md:5: differs from p.go#inner: run make docs\n" +
		"docs/a.md:12: differs from out.txt: run make docs\n" +
		"docs/a.md:16: differs from q.sql#step: run make docs\n"
	if code != 1 || out != want {
		t.Errorf("check of old text: exit code %d\n%s", code, out)
	}
	if read(t, root, "docs/a.md") != before {
		t.Error("check has changed the document")
	}
	if out, code := docsync(root, true); code != 0 || out != "rewrote docs/a.md\n" {
		t.Errorf("rewrite: exit code %d\n%s", code, out)
	}
	if got := read(t, root, "docs/a.md"); got != after {
		t.Errorf("rewritten to\n%s\nwant\n%s", got, after)
	}
	for _, write := range []bool{true, false} {
		if out, code := docsync(root, write); code != 0 || out != "" {
			t.Errorf("-w=%v on new text: exit code %d\n%s", write, code, out)
		}
	}
}

// What cannot be quoted is named with its line, rewriting or not, and stays as it is.
func TestBrokenQuotes(t *testing.T) {
	for name, c := range map[string]struct{ document, want string }{
		"no file":   {"<!-- snippet: no.go#x -->\n```go\n```\n", "a.md:1: no.go#x: open "},
		"no region": {"\n<!-- snippet: p.go#x -->\n```go\n```\n", `a.md:2: p.go#x: no region "x"`},
		"no end":    {"<!-- snippet: p.go#open -->\n```go\n```\n", `a.md:1: p.go#open: region "open" has no end`},
		"no block":  {"<!-- snippet: p.go#inner -->\n\n```go\n```\n", "a.md:1: p.go#inner: no fenced block in the next line"},
		"unclosed":  {"<!-- snippet: p.go#inner -->\n```go\n", "a.md:1: p.go#inner: no fenced block in the next line"},
		"twice":     {"<!-- snippet: twice.txt#x -->\n```\n```\n", `a.md:1: twice.txt#x: region "x" begins twice`},
		"empty":     {"<!-- snippet: empty.txt#x -->\n```\n```\n", `a.md:1: empty.txt#x: region "x" is empty`},
		"fence":     {"<!-- output: fence.txt -->\n```\n```\n", "a.md:1: fence.txt: contains the fence of its own block"},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, map[string]string{
				"a.md": c.document, "p.go": source, "fence.txt": "```\n",
				"twice.txt": "# snippet: x\n1\n# end snippet\n# snippet: x\n2\n# end snippet\n",
				"empty.txt": "# snippet: x\n\n# end snippet\n",
			})
			if out, code := docsync(root, false); code != 1 || !strings.Contains(out, c.want) {
				t.Errorf("exit code %d, no %q in\n%s", code, c.want, out)
			}
		})
	}
}

func TestLinks(t *testing.T) {
	root := tree(t, map[string]string{
		"docs/a.md": "# A `code` heading, (twice)\n\n# A `code` heading, (twice)\n\n<a name=\"mark\"></a>\n",
		"p.go":      "package p\n",
		"good.md": "[file](p.go) [line](p.go#L1) [folder](docs) [rooted](/docs/a.md) ![image](<p.go> \"title\")\n" +
			"[`code`](docs/a.md#a-code-heading-twice) [again](docs/a.md#a-code-heading-twice-1) [named](docs/a.md#mark)\n" +
			"[site](https://example.com/x#y) [mail](mailto:a@example.com) [here](#below) [ref]\n\n[ref]: docs/a.md\n\n" +
			"Not links: `[x](nowhere)`\n\n```\n[x](nowhere)\n```\n\n## Below\n",
	})
	if out, code := docsync(root, false); code != 0 {
		t.Errorf("good links: exit code %d\n%s", code, out)
	}
	for link, want := range map[string]string{
		"nowhere.md":       "no such file",
		"../x":             "leaves the repository",
		"p.go#L2":          "the file has only 1 lines",
		"#nowhere":         "no such heading in bad.md",
		"docs/a.md#no-one": "no such heading in docs/a.md",
		"docs#a":           "a folder has no anchors",
	} {
		for _, form := range []string{"[x](" + link + ")", "[x]\n\n[x]: " + link} {
			if err := os.WriteFile(filepath.Join(root, "bad.md"), []byte(form), 0o644); err != nil {
				t.Fatal(err)
			}
			out, code := docsync(root, false)
			if code != 1 || !strings.Contains(out, "link "+link+": "+want) || !strings.HasPrefix(out, "bad.md:") {
				t.Errorf("%q: exit code %d, no %q in\n%s", form, code, want, out)
			}
		}
	}
}

func TestNames(t *testing.T) {
	const code = "package p\n\ntype T struct{ F, g int; *U }\n\ntype U struct{}\n\nfunc (T) M() {}\n\n" +
		"func (g G[A]) N() {}\n\ntype G[A any] struct{}\n\ntype I interface{ Do() }\n\nconst C = 1\n\nvar V, W int\n\nfunc F() {}\n"
	files := map[string]string{
		"some/where/p.go": code,
		"other/p.go":      "package p\n\nfunc Elsewhere() {}\n",
		"p_test.go":       "package p\n\nfunc Hidden() {}\n",
		"main.go":         "package main\n\nfunc Main() {}\n",
		"good.md": "`p.T` `p.T.F` `p.T.M(ctx)` `p.T.Promoted` `*p.U` `p.G` `p.G.N` `p.I.Do` `p.C` `p.V` `p.W` `p.F()` `p.Elsewhere`\n" +
			"`q.X` `main.X` `p.md` `p.x` p.X\n\n```go\np.X()\n```\n",
	}
	if out, code := docsync(tree(t, files), false); code != 0 {
		t.Errorf("good names: exit code %d\n%s", code, out)
	}
	files["good.md"] = "`p.X`, `p.U.X(1)` and `p.Hidden`\n"
	want := "good.md:1: p.X is not declared\ngood.md:1: p.U.X is not declared\ngood.md:1: p.Hidden is not declared\n"
	if out, code := docsync(tree(t, files), false); code != 1 || out != want {
		t.Errorf("bad names: exit code %d\n%s", code, out)
	}
	files["other/p.go"] = "package p\n\nfunc {\n"
	if out, code := docsync(tree(t, files), false); code != 1 || !strings.Contains(out, "docsync: ") {
		t.Errorf("code that cannot be read: exit code %d\n%s", code, out)
	}
}

// A check that finds nothing to check was started in the wrong place.
func TestNoDocuments(t *testing.T) {
	if out, code := docsync(t.TempDir(), false); code != 1 {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
