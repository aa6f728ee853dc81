package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

var update = flag.Bool("update", false, "write the manual pages anew")

// The manual pages are made of the help, and are not to lag behind it.
func TestManualPages(t *testing.T) {
	const dir = "man"
	var want []string
	root := newRoot()
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		if cmd.Hidden {
			continue
		}
		page := manualPage(t, cmd)
		path := filepath.Join(dir, page.name)
		want = append(want, path)
		if *update {
			if err := os.WriteFile(path, page.text, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, page.text) {
			t.Errorf("%s is not as the help has it (%v): go test ./cmd/etcdfence -run TestManualPages -update", path, err)
		}
	}
	got, err := filepath.Glob(filepath.Join(dir, "*"))
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
}

type page struct {
	name string
	text []byte
}

func manualPage(t *testing.T, cmd *cobra.Command) page {
	t.Helper()
	name := "etcdfence"
	if cmd.HasParent() {
		name += "-" + cmd.Name()
	}
	cmd.DisableAutoGenTag = true
	cmd.Long = verbatim(cmd.Long)
	var text bytes.Buffer
	date := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) // of the first pages; a page says which version it is of
	if err := doc.GenMan(cmd, &doc.GenManHeader{Section: "1", Source: "etcdfence", Manual: "Fenced locks in etcd", Date: &date}, &text); err != nil {
		t.Fatal(err)
	}
	return page{name + ".1", text.Bytes()}
}

// verbatim keeps the lines of what is indented: two blanks more make it a block in markdown,
// of which a page is made.
func verbatim(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}
