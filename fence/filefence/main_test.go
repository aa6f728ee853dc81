package filefence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

// asChild makes the test program do something else: see children.
const asChild = "FILEFENCE_CHILD"

// children are what a process of its own does, with the path of a file.
var children = map[string]func(path string, args []string) error{
	"writer": writeShuffled, // and those of crash_test.go, where there are signals
}

func TestMain(m *testing.M) {
	if kind, rest, ok := strings.Cut(os.Getenv(asChild), " "); ok {
		args := strings.Split(rest, "|")
		if err := children[kind](args[0], args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(t *testing.T, kind, path string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asChild+"="+kind+" "+strings.Join(append([]string{path}, args...), "|"))
	return cmd
}

const lock = "orders/42"

func at(t testing.TB, revision, sequence int64) fence.Stamp {
	t.Helper()
	token, err := fence.NewToken(lock, 0, revision, "holder")
	if err != nil {
		t.Fatal(err)
	}
	return token.At(sequence)
}

func set(body string) func(context.Context, *Tx) error {
	return func(_ context.Context, tx *Tx) error { tx.SetBody([]byte(body)); return nil }
}

func newFile(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "orders.json")
}

func open(t testing.TB, path string, opts *Options) *Resource {
	t.Helper()
	r, err := Open(path, lock, opts)
	must(t, err)
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustBe(t testing.TB, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Fatalf("got %v, want %q", err, w)
		}
	}
}

// has checks mark and body, as a program sees them that has just begun.
func has(t testing.TB, path string, mark fence.Stamp, body string) {
	t.Helper()
	r := open(t, path, nil)
	gotMark, err1 := r.Mark(t.Context(), lock)
	gotBody, err2 := r.Body(t.Context())
	if err := errors.Join(err1, err2); err != nil || gotMark != mark || string(gotBody) != body {
		t.Fatalf("the file has %v and %q, %v, want %v and %q", gotMark, gotBody, err, mark, body)
	}
}
