package demo

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/timeline"
)

func options(t *testing.T) Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	return Options{Store: "memory", TTL: time.Second, Program: []string{self, os.Args[0]}}
}

// The whole story in this process, whose goroutines TestMain counts.
func TestRun(t *testing.T) {
	for _, store := range []string{"memory", "sqlite"} {
		t.Run(store, func(t *testing.T) {
			o := options(t)
			o.Store = store
			o.SVG = filepath.Join(t.TempDir(), "story.svg")
			var out bytes.Buffer
			if err := Run(t.Context(), o, &out); err != nil {
				t.Fatalf("%v\n%s", err, out.Bytes())
			}
			if !strings.Contains(out.String(), "REFUSED: stale") {
				t.Errorf("nothing was refused:\n%s", out.Bytes())
			}
			picture, err := os.ReadFile(o.SVG)
			if err != nil || !bytes.HasSuffix(picture, []byte("</svg>\n")) {
				t.Errorf("the picture is not complete: %v", err)
			}
			nothingIn(t, os.TempDir())
		})
	}
}

// A worker that does not start, and one that dies at once.
func TestBadWorker(t *testing.T) {
	for program, want := range map[string]string{"/nowhere": "starting worker A", "/bin/false": "worker A"} {
		o := options(t)
		o.Program = []string{program, program}
		err := Run(t.Context(), o, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), want) || cli.Code(err) != cli.Failed {
			t.Errorf("%s: got %v, code %d; want %q and %d", program, err, cli.Code(err), want, cli.Failed)
		}
		nothingIn(t, os.TempDir())
	}
}

func TestInterruptedBefore(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.ErrInterrupted)
	if err := Run(ctx, options(t), &bytes.Buffer{}); !errors.Is(err, cli.ErrInterrupted) {
		t.Fatal(err)
	}
	nothingIn(t, os.TempDir())
}

func TestNoPlaceForFiles(t *testing.T) {
	o := options(t)
	t.Setenv("TMPDIR", "/nowhere")
	if err := Run(t.Context(), o, &bytes.Buffer{}); cli.Code(err) != cli.Unusable {
		t.Fatalf("got %v, want an error of code %d", err, cli.Unusable)
	}
}

func TestPicture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "story.svg")
	file := &picture{flag: "--svg", draw: timeline.SVG}
	if err := file.open(path); err != nil {
		t.Fatal(err)
	}
	file.discard()
	nothingIn(t, filepath.Dir(path))

	// One that was there stays, also if it cannot be drawn anew.
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := file.open(path); err != nil {
		t.Fatal(err)
	}
	file.discard()
	if old, _ := os.ReadFile(path); string(old) != "old" {
		t.Fatalf("the old picture is now %q", old)
	}
	if err := file.save(timeline.Story{}); err == nil {
		t.Fatal("a closed file was written")
	}
}

func nothingIn(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v %v", dir, left, err)
	}
}
