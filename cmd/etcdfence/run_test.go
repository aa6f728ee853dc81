//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// stubborn is a command that says when it is told to end, and does not.
const stubborn = `exec 2>&-; trap 'echo told' TERM; echo ready; while :; do sleep 0.02; done`

const bound = 30 * time.Second // of whatever a test waits for

// leaseOf returns the lease of the only key of a lock.
func leaseOf(t *testing.T, s *etcdtest.Server, name string) clientv3.LeaseID {
	t.Helper()
	keys := s.Queue(t, name+"/")
	if len(keys) != 1 {
		t.Fatalf("the keys are %q", keys)
	}
	_, lease, ok := (*etcdfence.Options)(nil).ParseKey(keys[0])
	if !ok {
		t.Fatalf("%q is no key of a lock", keys[0])
	}
	return lease
}

// T18 (etcd PR 7983, 10117): a command whose lock is lost is told, then killed, and the
// exit code says so. Whoever comes next is not kept waiting by it.
func TestT18CommandIsTheLocks(t *testing.T) {
	for name, lose := range map[string]func(*testing.T, *etcdtest.Server, *etcdtest.Link){
		"lease revoked": func(t *testing.T, s *etcdtest.Server, _ *etcdtest.Link) { s.Revoke(t, leaseOf(t, s, "job")) },
		"key deleted": func(t *testing.T, s *etcdtest.Server, _ *etcdtest.Link) {
			s.DeleteKey(t, s.Queue(t, "job/")[0])
		},
		"cut off": func(_ *testing.T, _ *etcdtest.Server, l *etcdtest.Link) { l.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := etcdtest.Start(t)
			link := server.Link(t)
			p := start(t, "run", "--endpoints", link.Endpoint(), "--ttl", "2s", "--grace", "100ms", "job", "--",
				"sh", "-c", stubborn)
			p.until("ready")
			lose(t, server, link)
			p.until("told")
			p.says(122, "asking the command to end within 100ms", "killing it", `etcdfence run: "job" was lost while the command ran`)
			link.Heal()
			server.WaitEmpty(t, "job/")
		})
	}
}

// A command that ends when it is told to is not killed, and what it has started in the
// background does not go on.
func TestCommandEndsInTime(t *testing.T) {
	server := etcdtest.Start(t)
	p := start(t, "run", "--endpoints", server.Endpoint(), "--grace", "1h", "job", "--",
		"sh", "-c", `exec 2>&-; (trap '' TERM; echo ready; while :; do sleep 0.02; done) & trap 'echo told; exit 3' TERM; while :; do sleep 0.02; done`)
	p.until("ready")
	server.Revoke(t, leaseOf(t, server, "job"))
	p.until("told")
	p.says(122, "asking the command to end within 1h", `etcdfence run: "job" was lost while the command ran`)
}

// Signals reach the command, whose answer is the program's; while it waits for the lock
// they end it, and it leaves the queue.
func TestRunAndSignals(t *testing.T) {
	server := etcdtest.Start(t)
	holder := start(t, "run", "--endpoints", server.Endpoint(), "job", "--",
		"sh", "-c", `exec 2>&-; trap 'echo got USR1' USR1; trap 'echo got TERM; exit 9' TERM; echo ready; while :; do sleep 0.02; done`)
	holder.until("ready")
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		waiter := start(t, "run", "--endpoints", server.Endpoint(), "job", "--", "true")
		server.WaitQueued(t, "job/", 2)
		waiter.signal(s)
		waiter.says(128+int(s), fmt.Sprintf(`waiting for "job": %v`, s))
		server.WaitQueued(t, "job/", 1)
	}
	holder.signal(syscall.SIGUSR1)
	holder.until("got USR1")
	holder.signal(syscall.SIGTERM)
	holder.until("got TERM")
	holder.says(9)
	server.WaitEmpty(t, "job/")
	server.NoLeasesLeft(t)
}

// The commands of one name run one after another, here and under etcdctl.
func TestRunAndEtcdctlExcludeEachOther(t *testing.T) {
	etcdctl, err := exec.LookPath("etcdctl")
	if err != nil {
		t.Fatalf("%v: run `make setup`", err)
	}
	server := etcdtest.Start(t)
	theirs := func(command string) *exec.Cmd {
		cmd := exec.Command(etcdctl, "--endpoints="+server.Address(), "lock", "job", "--", "sh", "-c", command)
		cmd.Env = append(cmd.Environ(), "ETCDCTL_API=3")
		return cmd
	}
	const wait = `exec 2>&-; echo ready; trap 'exit 0' USR1; while :; do sleep 0.02; done`

	ours := start(t, "run", "--endpoints", server.Endpoint(), "job", "--", "sh", "-c", wait)
	ours.until("ready")
	ran, done := filepath.Join(t.TempDir(), "ran"), filepath.Join(t.TempDir(), "done")
	second := theirs("echo >" + ran)
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	server.WaitQueued(t, "job/", 2)
	if _, err := os.Stat(ran); err == nil {
		t.Error("etcdctl's command runs while ours does")
	}
	ours.signal(syscall.SIGUSR1)
	ours.says(0)
	if err := second.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err != nil {
		t.Fatal(err)
	}
	server.WaitEmpty(t, "job/")

	first := theirs("while [ ! -e " + done + " ]; do sleep 0.02; done")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	server.WaitQueued(t, "job/", 1)
	start(t, "run", "--try", "--endpoints", server.Endpoint(), "job", "--", "echo", "ours").
		says(121, `"job" is in use, by lease `)
	ours = start(t, "run", "--endpoints", server.Endpoint(), "job", "--", "echo", "ours")
	server.WaitQueued(t, "job/", 2)
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ours.until("ours")
	ours.says(0)
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
}

// says checks how the program ends, and what it says about it, one line each.
func (p *program) says(code int, messages ...string) {
	p.t.Helper()
	said := p.end(code, bound)
	if len(said) != len(messages) {
		p.t.Errorf("stderr is %q, want %q", said, messages)
		return
	}
	for i, m := range messages {
		if !strings.Contains(said[i], m) {
			p.t.Errorf("stderr says %q, want %q", said[i], m)
		}
	}
}

// Whoever watches sees each change, and ends with Ctrl-C.
func TestStatusWatch(t *testing.T) {
	server := etcdtest.Start(t)
	for _, args := range [][]string{{"status", "--watch", "job"}, {"status", "--watch"}, {"status", "--watch", "--json"}} {
		watch := start(t, append(args, "--endpoints", server.Endpoint())...)
		if args[len(args)-1] == "--json" {
			watch.until("[]")
		} else {
			watch.until("is") // free; or no lock is held
		}
		job := start(t, "run", "--endpoints", server.Endpoint(), "--owner", "the holder", "job", "--", "sh", "-c", "exec 2>&-; "+
			"echo ready; trap 'exit 0' USR1; while :; do sleep 0.02; done")
		watch.until("the holder")
		waiter := start(t, "run", "--endpoints", server.Endpoint(), "--owner", "the next one", "job", "--", "true")
		watch.until("the next one")
		job.until("ready")
		job.signal(syscall.SIGUSR1)
		job.says(0)
		waiter.says(0)
		server.WaitEmpty(t, "job/")
		watch.signal(syscall.SIGINT)
		watch.says(0)
	}
}
