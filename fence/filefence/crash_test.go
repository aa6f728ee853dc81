//go:build unix

package filefence

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

func init() { children["crash"], children["limit"] = crashAt, writeBeyondLimit }

var steps = []string{"opened", "half written", "written", "synced", "closed", "renamed", "directory synced"}

// crashAt writes, and is killed at a step.
func crashAt(path string, args []string) error {
	r, err := Open(path, lock, nil)
	if err != nil {
		return err
	}
	r.step = func(name string) error {
		if name == args[0] {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // it does not come back
		}
		return nil
	}
	token, err := fence.NewToken(lock, 0, 5, "holder")
	if err != nil {
		return err
	}
	return r.Apply(context.Background(), token.At(2), set("new"))
}

// A process that is killed at any step leaves the old file or the new one, with the mark of
// its body, and nothing that stops the next.
func TestKilledAtEachStep(t *testing.T) {
	for _, before := range []bool{true, false} {
		for i, step := range steps {
			path := newFile(t)
			mark, body := fence.Stamp{}, ""
			if before {
				mark, body = at(t, 5, 1), "old"
				must(t, open(t, path, nil).Apply(t.Context(), mark, set(body)))
			}
			cmd := child(t, "crash", path, step)
			out, err := cmd.CombinedOutput()
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
				t.Fatalf("%s: the child was not killed: %v\n%s", step, err, out)
			}
			renamed := i >= slices.Index(steps, "renamed")
			if renamed {
				mark, body = at(t, 5, 2), "new"
			}
			has(t, path, mark, body)
			r := open(t, path, nil)
			err = r.Apply(t.Context(), at(t, 5, 2), set("again")) // as somebody does who got no answer
			if renamed != errors.Is(err, fence.ErrReplayed) || !renamed && err != nil {
				t.Fatalf("%s: the same stamp again: %v", step, err)
			}
			must(t, r.Claim(t.Context(), at(t, 6, 0).Token()))
			must(t, r.Apply(t.Context(), at(t, 6, 1), set("next")))
			has(t, path, at(t, 6, 1), "next")
			if _, err := os.Stat(r.beside("-new")); !os.IsNotExist(err) {
				t.Errorf("%s: something is left: %v", step, err)
			}
			must(t, os.Remove(path))
			mustBe(t, r.Apply(t.Context(), at(t, 5, 3), set("old")), ErrDeleted)
		}
	}
}

// The order is what makes it safe: the contents before the name, the name before the
// answer.
func TestOrderOfSyncs(t *testing.T) {
	r := open(t, newFile(t), nil)
	var seen []string
	r.step = func(name string) error { seen = append(seen, name); return nil }
	r.sync = func(f *os.File) error { seen = append(seen, "sync "+filepath.Base(f.Name())); return f.Sync() }
	must(t, r.Apply(t.Context(), at(t, 5, 1), set("one")))
	want := []string{"opened", "half written", "written", "sync .orders.json.fence-new", "synced", "closed", "renamed",
		"sync " + filepath.Base(filepath.Dir(r.path)), "directory synced", "sync .orders.json.fence"}
	if !slices.Equal(seen, want) {
		t.Errorf("the order is %q", seen)
	}
	seen = nil
	must(t, r.Apply(t.Context(), at(t, 5, 2), set("two")))
	if !slices.Equal(seen, want[:len(want)-1]) {
		t.Errorf("then the order is %q", seen)
	}
}

// Whatever fails before the rename, nothing was changed; after it the outcome is unknown.
func TestFailureAtEachStep(t *testing.T) {
	full := errors.New("the disk is full")
	for i, step := range steps {
		path := newFile(t)
		r := open(t, path, nil)
		must(t, r.Apply(t.Context(), at(t, 5, 1), set("old")))
		r.step = func(name string) error {
			if name == step {
				return full
			}
			return nil
		}
		err := r.Apply(t.Context(), at(t, 5, 2), set("new"))
		mustBe(t, err, full)
		renamed := i >= slices.Index(steps, "renamed")
		if errors.Is(err, fence.ErrUnknownOutcome) != renamed {
			t.Errorf("%s: %v", step, err)
		}
		if renamed {
			has(t, path, at(t, 5, 2), "new")
		} else {
			has(t, path, at(t, 5, 1), "old")
		}
		if _, err := os.Stat(r.beside("-new")); !os.IsNotExist(err) {
			t.Errorf("%s: something is left: %v", step, err)
		}
	}
}

const sizeLimit = 4096

// writeBeyondLimit meets a real limit of the kernel's in the middle of a write.
func writeBeyondLimit(path string, _ []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: sizeLimit, Max: sizeLimit}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	r, err := Open(path, lock, nil)
	if err != nil {
		return err
	}
	token, err := fence.NewToken(lock, 0, 5, "holder")
	if err != nil {
		return err
	}
	return r.Apply(context.Background(), token.At(2), set(strings.Repeat("x", 3*sizeLimit)))
}

func TestNoRoom(t *testing.T) {
	path := newFile(t)
	must(t, open(t, path, nil).Apply(t.Context(), at(t, 5, 1), set("old")))
	out, err := child(t, "limit", path).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "nothing was changed") || !strings.Contains(string(out), "file too large") {
		t.Fatalf("%v: %s", err, out)
	}
	has(t, path, at(t, 5, 1), "old")
	must(t, open(t, path, nil).Apply(t.Context(), at(t, 5, 2), set("new")))
}
