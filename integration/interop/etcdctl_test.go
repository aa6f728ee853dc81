package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// etcdctl is a script that runs "etcdctl lock", or "elect": a process for each
// acquisition, which prints its key once it has the lock and keeps it until it is
// interrupted.
type etcdctl struct {
	binary, endpoint string
	running          *exec.Cmd
	output           io.Closer
	complaint        bytes.Buffer // what it says on stderr; to be read once it was joined
}

func newEtcdctl(t *testing.T, at site) contender {
	t.Helper()
	return etcdctlAt(t, at)
}

func etcdctlAt(t *testing.T, at site) *etcdctl {
	t.Helper()
	r := &etcdctl{binary: installed(t, "etcdctl"), endpoint: at.endpoint}
	t.Cleanup(func() {
		if r.running != nil { // the test has failed
			_ = r.running.Process.Kill()
			_ = r.join()
		}
	})
	return r
}

// installed finds a program that the machine must have.
func installed(t *testing.T, binary string) string {
	t.Helper()
	path, err := exec.LookPath(binary)
	if err != nil {
		t.Fatalf("%v: run make setup", err)
	}
	return path
}

func (r *etcdctl) lock(ctx context.Context) (int64, error) {
	kv, err := r.start(ctx, "lock", rawName)
	return kv.CreateRevision, err
}

// printed is what etcdctl prints of a key.
type printed struct {
	CreateRevision int64 `json:"create_revision"`
	Value          []byte
}

// start runs etcdctl until it has printed a key.
func (r *etcdctl) start(ctx context.Context, command ...string) (printed, error) {
	r.complaint.Reset()
	args := append([]string{"--endpoints", r.endpoint, "--write-out", "json"}, command...)
	cmd := exec.CommandContext(ctx, r.binary, args...)
	cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
	cmd.Stderr = &r.complaint
	output, err := cmd.StdoutPipe()
	if err != nil {
		return printed{}, err
	}
	if err := cmd.Start(); err != nil {
		return printed{}, err
	}
	r.running, r.output = cmd, output
	var answer struct{ Kvs []printed }
	if err := json.NewDecoder(output).Decode(&answer); err != nil || len(answer.Kvs) != 1 {
		return printed{}, errors.Join(fmt.Errorf("etcdctl %s ended without a key: %w", command[0], err), r.join())
	}
	return answer.Kvs[0], nil
}

func (r *etcdctl) unlock(context.Context) error {
	if err := r.running.Process.Signal(os.Interrupt); err != nil {
		return errors.Join(err, r.join())
	}
	return r.join()
}

func (r *etcdctl) join() error {
	err := r.running.Wait()
	r.running = nil
	_ = r.output.Close()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(r.complaint.Bytes()))
	}
	return nil
}
