package timeline

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func page(t *testing.T, s Story) string {
	t.Helper()
	var out bytes.Buffer
	if err := HTML(&out, s); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The page needs nothing but itself, whatever is written into the story.
func TestHTMLIsAlone(t *testing.T) {
	s := sample(t, math.MaxInt64-20)
	s.Store = `</script><script>alert("<&>")</script>`
	s.Acts[0].Events[10].Value = s.Store
	for _, p := range []string{page(t, sample(t, 4)), page(t, s), page(t, Story{})} {
		for _, loads := range []string{"http:", "https:", "src=", "@import", "url("} {
			if strings.Contains(p, loads) {
				t.Errorf("the page has %q", loads)
			}
		}
		if n := strings.Count(p, "<script"); n != 1 {
			t.Errorf("%d scripts", n)
		}
	}
	golden(t, "story.html", []byte(page(t, sample(t, 4))))
}

// TestHTMLInABrowser opens the page at some steps, as a link to them does, and looks at what
// a reader would see.
func TestHTMLInABrowser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "story.html")
	if err := os.WriteFile(path, []byte(page(t, sample(t, 4))), 0o600); err != nil {
		t.Fatal(err)
	}
	for step, want := range map[int][]string{
		0:  {"A asks etcd for the lock", "wants the lock", "the lock is free", "newest token: none", "0.000 s, step 1 of 26"},
		5:  {"A is STOPPED before its write (SIGSTOP)", "STOPPED", "A holds the lock", "newest token: 4", "step 5 of 26"},
		13: {"A writes v1 REFUSED: stale, it knows 9", "was refused: it knows now", "B holds the lock", "holds v2", "newest token: 9", "step 13 of 26"},
		25: {"A writes v1 ok", "was told ok", "holds v1", "knows no tokens", "step 25 of 26"},
		99: {"the store has v1 at the end", "step 26 of 26"},
	} {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			dom := browse(t, path, step)
			stage, list, ok := strings.Cut(dom, `<section class="act">`)
			if !ok || strings.Contains(dom, `class="noscript"`) {
				t.Fatalf("the script did not run:\n%s", dom)
			}
			seen := visible(stage)
			for _, words := range want {
				if !strings.Contains(seen, words) {
					t.Errorf("not to be seen: %q in %q", words, seen)
				}
			}
			if n := strings.Count(list, `aria-current="step"`); n != 1 {
				t.Errorf("%d current rows", n)
			}
			if later := strings.Count(list, `class="step later"`); later != 26-max(1, min(step, 26)) {
				t.Errorf("%d later rows", later)
			}
		})
	}
}

var tag = regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]*>`)

// visible is the text of a part of a page.
func visible(part string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(part, " "))), " ")
}

// browse returns what the browser has made of the page.
func browse(t *testing.T, path string, step int) string {
	t.Helper()
	browser := ""
	for _, name := range []string{"chromium", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && browser == "" {
			browser = found
		}
	}
	if browser == "" {
		t.Fatal("no Chromium: run `make setup`")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	address := url.URL{Scheme: "file", Path: path, Fragment: fmt.Sprintf("step=%d", step)}
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+t.TempDir(), "--dump-dom", address.String())
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.WaitDelay = time.Second // its children may keep the outputs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	return string(out)
}
