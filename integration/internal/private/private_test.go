package private_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/etcdfence/etcdfence/integration/internal/private"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shell is a kind whose program is a line of shell. It sees $data.
func shell(install, run string) *private.Kind {
	k := &private.Kind{Name: "shelltest", Ready: "at your service", End: syscall.SIGTERM, Users: []string{"nobody"}}
	if install != "" {
		k.Install = func(data string) (*exec.Cmd, error) {
			return exec.Command("sh", "-c", "data="+data+"; "+install), nil
		}
	}
	k.Run = func(_, data string, settings []string) (*exec.Cmd, error) {
		return exec.Command("sh", append([]string{"-c", "data=" + data + "; " + run, "sh"}, settings...)...), nil
	}
	return k
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Fatal(args ...any) { r.said = fmt.Sprint(args...); panic(r) }
func (r *recorder) Helper()           {}

// failure returns what starting a server of the kind fails with.
func failure(t *testing.T, k *private.Kind) (said string) {
	t.Helper()
	r := &recorder{TB: t}
	defer func() {
		if got := recover(); got != nil && got != any(r) {
			panic(got)
		}
		said = r.said
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}()
	k.Start(r)
	return ""
}

// A program that is no server fails the start with what it said.
func TestFailedStartSaysWhatTheProgramSaid(t *testing.T) {
	for _, k := range []*private.Kind{
		shell("", "echo there is no data >&2; exit 1"),
		shell("mkdir $data; echo there is no data >&2; exit 1", ""),
	} {
		if said := failure(t, k); !strings.Contains(said, "shelltest") || !strings.Contains(said, "there is no data") {
			t.Errorf("got %q, want the program's own words", said)
		}
	}
}

func TestMissingProgramSaysWhatToDo(t *testing.T) {
	if _, err := private.Binary("no-such-program", "/usr/sbin"); err == nil || !strings.Contains(err.Error(), "make setup") {
		t.Fatal(err)
	}
}

const serve = `echo "$@" >>$data/log; echo at your service; while :; do sleep 0.01; done`

// Each server has data of its own, made from one template, and keeps them when it is
// killed and started again.
func TestServersAreApartAndKeepTheirData(t *testing.T) {
	k := shell("mkdir $data && echo made >$data/log", serve)
	a, b := k.Start(t, private.WithSettings("a")), k.Start(t, private.WithSettings("b"))
	a.Kill(t)
	if a.Running() || !b.Running() {
		t.Fatal("the wrong one was killed")
	}
	a.Restart(t)
	for server, want := range map[*private.Server]string{a: "made\na\na\n", b: "made\nb\n"} {
		if log, err := os.ReadFile(filepath.Join(server.Dir(), "data", "log")); err != nil || string(log) != want {
			t.Errorf("got %q and %v, want %q", log, err, want)
		}
	}
	a.Stop(t)
	a.Stop(t)
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
}

// Nothing of a closed kind is left, and it may be used again.
func TestClose(t *testing.T) {
	k := shell("", serve)
	for range 2 {
		s := k.Shared(t)
		if k.Shared(t) != s {
			t.Fatal("not shared")
		}
		if err := k.Close(); err != nil || k.Close() != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(s.Dir()); !os.IsNotExist(err) || s.Running() {
			t.Fatalf("%v, running: %v", err, s.Running())
		}
	}
}
