package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// child is a process of somebody else's, held by a descriptor that becomes readable
// when it ends.
type child struct{ fd int }

// children are the processes that the program has started.
func (p *program) children() (all []child) {
	p.t.Helper()
	dirs, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, thread := range dirs {
		list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", p.cmd.Process.Pid, thread.Name()))
		if err != nil {
			continue // the thread has ended
		}
		for _, text := range strings.Fields(string(list)) {
			pid, err := strconv.Atoi(text)
			if err != nil {
				p.t.Fatal(err)
			}
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				p.t.Fatal(err)
			}
			p.t.Cleanup(func() { unix.Close(fd) })
			all = append(all, child{fd})
		}
	}
	return all
}

// await waits for the end of the process.
func (c child) await(t *testing.T) {
	t.Helper()
	const patience = 10 * time.Second
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
	if n != 1 || err != nil {
		t.Errorf("a worker has outlived its director: %v", err)
	}
}

// A director that is killed cannot clean up, but its workers do not outlive it.
func TestWorkersDieWithTheirDirector(t *testing.T) {
	t.Parallel()
	p := start(t, "demo", "--ttl", "10s")
	p.until("and waits")
	workers := p.children()
	if len(workers) != 2 {
		t.Fatalf("%d workers, want 2", len(workers))
	}
	p.signal(syscall.SIGKILL)
	_ = p.cmd.Wait()
	for _, w := range workers {
		w.await(t)
	}
}

// A program that is killed cannot release the lock, nor tell its command; but the command
// does not go on without it.
func TestCommandDiesWithTheProgram(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	p := start(t, "run", "--endpoints", server.Endpoint(), "job", "--", "sh", "-c", stubborn)
	p.until("ready")
	children := p.children()
	if len(children) != 1 {
		t.Fatalf("%d children, want 1", len(children))
	}
	p.signal(syscall.SIGKILL)
	_ = p.cmd.Wait()
	children[0].await(t)
}
