package etcdtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// A Process is an etcd in a process of its own, for tests against another
// version than the embedded one. It has an Admin, but none of the faults that
// need the server's inside: no Expire, no Snapshot. Links work.
type Process struct {
	*Admin
	seat   *seat
	client *clientv3.Client
	cmd    *exec.Cmd
	output tail
	exited chan struct{} // closed when the process has been joined
}

// StartProcess runs an etcd binary, such as /usr/bin/etcd, on free loopback
// ports and a directory of its own, and returns when it answers, after 0.2 to
// 1.2 s. More flags may follow. The process is killed and joined when the test t
// ends. It works with etcd 3.4 and newer.
//
// Variables of the environment that begin with ETCD_ are not passed on. If the
// test's own process is killed, the etcd stays behind.
func StartProcess(t testing.TB, binary string, flags ...string) *Process {
	t.Helper()
	for attempt := 1; ; attempt++ {
		p, err := newProcess(t.TempDir(), binary, flags)
		if err != nil {
			t.Fatal(err)
		}
		if err = p.ready(); err == nil {
			t.Cleanup(p.close)
			return p
		}
		p.close()
		if !strings.Contains(p.output.String(), "address already in use") || attempt == 10 {
			t.Fatalf("%v\nits last output:\n%s", err, p.output.String())
		}
	}
}

func newProcess(dir, binary string, flags []string) (*Process, error) {
	// A binary before 3.5 cannot share a port that is held, so this one is a guess.
	client, err := guessPort()
	if err != nil {
		return nil, err
	}
	peer, err := guessPort()
	if err != nil {
		return nil, err
	}
	seat := &seat{name: "m1", client: client, peer: peer}
	clientURL, peerURL := seat.client.url(), seat.peer.url()
	p := &Process{seat: seat, exited: make(chan struct{})}
	p.cmd = exec.Command(binary, append([]string{
		"--name", seat.name, "--data-dir", dir, "--initial-cluster", seat.member(),
		"--listen-client-urls", clientURL.String(), "--advertise-client-urls", clientURL.String(),
		"--listen-peer-urls", peerURL.String(), "--initial-advertise-peer-urls", peerURL.String(),
	}, flags...)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ETCD_") {
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("etcdtest: running %s: %w", binary, err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // says how it was killed: nothing to do with it
	}()
	p.Admin = &Admin{patience: newSettings(nil).patience, conns: newClients(p.Endpoint())}
	return p, nil
}

// ready waits until the process answers, or has ended.
func (p *Process) ready() (err error) {
	if p.client, err = p.conns.open(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.patience)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-p.exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	defer func() { cancel(); <-watching }()
	for {
		attempt, stop := context.WithTimeout(ctx, time.Second)
		_, err = p.client.Get(attempt, "\x00")
		stop()
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("etcdtest: the etcd process ended while starting: %v", p.cmd.ProcessState)
		default:
		}
		if !pause(ctx) {
			return fmt.Errorf("etcdtest: the etcd process does not answer: %w", err)
		}
	}
}

// close is the cleanup of a process.
func (p *Process) close() {
	p.conns.closeAll()
	p.Kill()
}

// Kill kills the process and joins it. Doing it twice is fine.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails if it has ended, which is what we want
	<-p.exited
}

// Client returns the process's own client, closed by the kit. Do not close it.
func (p *Process) Client() *clientv3.Client { return p.client }

// Endpoint returns the address as clientv3.Config.Endpoints takes it.
func (p *Process) Endpoint() string { u := p.seat.client.url(); return u.String() }

// Address returns the address as host:port.
func (p *Process) Address() string { return p.seat.client.address() }

// Link returns a new link to the process, closed when the test t ends.
func (p *Process) Link(t testing.TB) *Link { t.Helper(); return NewLink(t, p.Address()) }

// tail keeps the last output of a process.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (o *tail) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	const keep = 16 << 10
	o.buf.Write(b)
	if n := o.buf.Len() - keep; n > 0 {
		o.buf.Next(n)
	}
	return len(b), nil
}

func (o *tail) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
