package filefence

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

func TestOpenRefusesBadArguments(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	must(t, os.Symlink(filepath.Join(dir, "there"), link))
	must(t, os.WriteFile(filepath.Join(dir, "plain"), nil, 0o600))
	for path, want := range map[string]string{
		"":                                    "the path is empty",
		dir:                                   "no regular file",
		link:                                  "symbolic link",
		filepath.Join(dir, "nowhere", "file"): "no such file",
		filepath.Join(dir, "plain", "file"):   "not a directory",
	} {
		if _, err := Open(path, lock, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
	_, err := Open(newFile(t), "a\n", nil)
	mustBe(t, err, fence.ErrBadToken)
	for _, opts := range []Options{{Attempts: -1}, {Operations: -1}, {Perm: fs.ModeDir | 0o600}} {
		if _, err := Open(newFile(t), lock, &opts); err == nil {
			t.Errorf("%+v is accepted", opts)
		}
	}
}

// The path is that of Open, wherever the program goes.
func TestRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	r, err := Open("file", lock, nil)
	must(t, err)
	path, err := filepath.Abs("file")
	must(t, err)
	t.Chdir(t.TempDir())
	must(t, r.Apply(t.Context(), at(t, 5, 1), set("one")))
	has(t, path, at(t, 5, 1), "one")
}

// The permissions that somebody has given to the file stay.
func TestPermissions(t *testing.T) {
	path := newFile(t)
	r := open(t, path, &Options{Perm: 0o600})
	must(t, r.Apply(t.Context(), at(t, 5, 1), set("one")))
	for i, perm := range []fs.FileMode{0o600, 0o664, 0o640} {
		if perm != 0o600 {
			must(t, os.Chmod(path, perm))
			must(t, r.Claim(t.Context(), at(t, int64(6+i), 0).Token()))
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != perm && runtime.GOOS != "windows" {
			t.Errorf("%v, %v, want %v", info.Mode(), err, perm)
		}
	}
}

// Removing the file takes the mark away. That is no first write, for nobody.
func TestRemovedFileIsNoFirstWrite(t *testing.T) {
	path := newFile(t)
	r := open(t, path, nil)
	must(t, r.Apply(t.Context(), at(t, 5, 1), set("one")))
	must(t, os.Remove(path))
	for _, handle := range []*Resource{r, open(t, path, nil)} {
		mustBe(t, handle.Apply(t.Context(), at(t, 3, 1), set("old")), ErrDeleted)
		mustBe(t, handle.Claim(t.Context(), at(t, 9, 0).Token()), ErrDeleted)
		_, err := handle.Mark(t.Context(), lock)
		mustBe(t, err, ErrDeleted)
		_, err = handle.Body(t.Context())
		mustBe(t, err, ErrDeleted)
		mustBe(t, handle.Apply(t.Context(), fence.Stamp{}, set("none")), fence.ErrNoToken)
		mustBe(t, handle.Rebase(t.Context(), at(t, 5, 1), at(t, 6, 0)), ErrDeleted)
	}
	must(t, r.Rebase(t.Context(), fence.Stamp{}, at(t, 5, 1)))
	mustBe(t, r.Apply(t.Context(), at(t, 3, 1), set("old")), fence.ErrStale)
	must(t, r.Apply(t.Context(), at(t, 5, 2), set("two")))
	has(t, path, at(t, 5, 2), "two")
}

// Data from before the fence, or written around it, also while a change runs.
func TestForeignFile(t *testing.T) {
	for _, foreign := range []string{"", "plain", "{}\nbody", `{"etcdfence":2,"mark":"","call":""}` + "\n"} {
		path := newFile(t)
		must(t, os.WriteFile(path, []byte(foreign), 0o600))
		r := open(t, path, nil)
		mustBe(t, r.Apply(t.Context(), at(t, 5, 1), set("one")), ErrForeign)
		_, err := r.Body(t.Context())
		mustBe(t, err, ErrForeign)
		must(t, r.Rebase(t.Context(), fence.Stamp{}, at(t, 5, 0)))
		has(t, path, at(t, 5, 0), foreign)
		err = r.Apply(t.Context(), at(t, 5, 1), func(context.Context, *Tx) error {
			return os.WriteFile(path, []byte("around the fence"), 0o600)
		})
		mustBe(t, err, ErrForeign)
	}
}

func TestGuardedByAnotherLock(t *testing.T) {
	path := newFile(t)
	must(t, open(t, path, nil).Claim(t.Context(), at(t, 5, 0).Token()))
	other, err := Open(path, "another", nil)
	must(t, err)
	token, err := fence.NewToken("another", 0, 9, "o")
	must(t, err)
	mustBe(t, other.Claim(t.Context(), token), fence.ErrWrongLock)
	mustBe(t, other.Apply(t.Context(), token.At(1), set("v")), fence.ErrWrongLock)
	_, err = other.Mark(t.Context(), "another")
	mustBe(t, err, fence.ErrWrongLock)
}

// Whoever waits for the lock leaves with its context, and somebody who holds it while it
// stands still does not stop readers.
func TestWaitingEndsWithTheContext(t *testing.T) {
	path := newFile(t)
	r := open(t, path, nil)
	must(t, r.Apply(t.Context(), at(t, 5, 1), set("one")))
	holder := open(t, path, nil)
	inside, open := make(chan struct{}), make(chan struct{})
	holder.step = func(name string) error {
		if name == "written" {
			close(inside)
			<-open
		}
		return nil
	}
	var all sync.WaitGroup
	all.Go(func() {
		if err := holder.Apply(t.Context(), at(t, 5, 2), set("two")); err != nil {
			t.Error(err)
		}
	})
	<-inside
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := r.Claim(ctx, at(t, 6, 0).Token())
	mustBe(t, err, context.DeadlineExceeded)
	if errors.Is(err, fence.ErrUnknownOutcome) {
		t.Errorf("nothing was written, and yet %v", err)
	}
	has(t, path, at(t, 5, 1), "one")
	close(open)
	all.Wait()
	must(t, r.Claim(t.Context(), at(t, 6, 0).Token()))
	has(t, path, at(t, 6, 0), "two")
	ended, stop := context.WithCancel(t.Context())
	stop()
	mustBe(t, r.Apply(ended, at(t, 6, 1), set("three")), context.Canceled)
	_, err = r.Mark(ended, lock)
	mustBe(t, err, context.Canceled)
}

// A holder that is stopped in its change keeps nobody out, and comes too late.
func TestSlowChangeKeepsNobodyOut(t *testing.T) {
	path := newFile(t)
	r := open(t, path, nil)
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	err := r.Apply(t.Context(), at(t, 5, 1), func(ctx context.Context, tx *Tx) error {
		tx.SetBody([]byte("late"))
		next := open(t, path, nil)
		if err := next.Claim(ctx, at(t, 6, 0).Token()); err != nil {
			return err
		}
		return next.Apply(ctx, at(t, 6, 1), set("in time"))
	})
	mustBe(t, err, fence.ErrStale)
	has(t, path, at(t, 6, 1), "in time")
}

// The side file may be removed while somebody waits for its lock: that was no lock then.
func TestSideFileRemoved(t *testing.T) {
	path := newFile(t)
	r := open(t, path, nil)
	side, err := r.exclude(t.Context())
	must(t, err)
	must(t, os.Remove(side.Name()))
	other, err := r.exclude(t.Context())
	must(t, err)
	if _, locked, err := r.tryExclude(); locked || err != nil {
		t.Fatalf("locked twice: %v", err)
	}
	must(t, side.Close())
	if _, locked, err := r.tryExclude(); locked || err != nil {
		t.Fatalf("locked twice: %v", err)
	}
	must(t, other.Close())
	third, locked, err := r.tryExclude()
	if !locked || err != nil {
		t.Fatalf("not free: %v", err)
	}
	must(t, third.Close())
}

// What a killed program has left, or somebody has put there, is neither followed nor kept.
func TestLeftoverIsNotFollowed(t *testing.T) {
	path := newFile(t)
	r := open(t, path, nil)
	precious := filepath.Join(t.TempDir(), "precious")
	must(t, os.WriteFile(precious, []byte("keep"), 0o600))
	must(t, os.Symlink(precious, r.beside("-new")))
	must(t, r.Apply(t.Context(), at(t, 5, 1), set("one")))
	has(t, path, at(t, 5, 1), "one")
	if data, err := os.ReadFile(precious); err != nil || string(data) != "keep" {
		t.Fatalf("%q, %v", data, err)
	}
}

// Others replace the file each time that the change runs.
func TestContended(t *testing.T) {
	path := newFile(t)
	r, other := open(t, path, &Options{Attempts: 3}), open(t, path, nil)
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	runs := int64(0)
	err := r.Apply(t.Context(), at(t, 5, 9), func(ctx context.Context, tx *Tx) error {
		runs++
		tx.SetBody([]byte("ours"))
		return other.Apply(ctx, at(t, 5, runs), set("theirs"))
	})
	mustBe(t, err, fence.ErrContended)
	if runs != 3 {
		t.Fatalf("%d runs", runs)
	}
	has(t, path, at(t, 5, 3), "theirs")
}
