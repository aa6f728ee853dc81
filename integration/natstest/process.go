package natstest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// asServer makes this program the server that is linked into it.
const asServer = "NATSTEST_AS_SERVER"

// Main must be the first thing that a program does which calls [StartProcess]: in a
// TestMain, or in main. In the child it runs the server and does not return.
func Main() {
	set := os.Getenv(asServer)
	if set == "" {
		return
	}
	var s settings
	err := json.Unmarshal([]byte(set), &s)
	if err == nil {
		err = serve(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs until the parent is gone.
func serve(set settings) error {
	s, err := run(set.options())
	if err != nil {
		return err
	}
	fmt.Println(s.ClientURL())
	_, err = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	s.WaitForShutdown()
	return err
}

// Process is the same server in a process of its own, which can be killed.
type Process struct {
	node
	set     settings
	running *exec.Cmd
	stdin   io.Closer // the child ends with it
}

// StartProcess runs a server in a child of this program, which must call [Main], and ends
// it with the test t.
func StartProcess(t testing.TB, opts ...Option) *Process {
	t.Helper()
	p := &Process{set: settings{Dir: t.TempDir()}}
	for _, o := range opts {
		o(&p.set)
	}
	t.Cleanup(p.Kill)
	p.Restart(t)
	return p
}

// Kill ends the process at once, without telling it. Killing a killed one does nothing.
func (p *Process) Kill() {
	if p.running != nil {
		_ = p.running.Process.Kill() // or it has ended already
		_ = p.running.Wait()         // says that it was killed
		_ = p.stdin.Close()
		p.running = nil
	}
}

// Restart kills the process if it runs and starts another one, on the same data and the
// same address.
func (p *Process) Restart(t testing.TB) {
	t.Helper()
	p.Kill()
	if err := p.StartAgain(); err != nil {
		t.Fatal(err)
	}
}

// StartAgain is Restart after a Kill, for goroutines that must not end the test.
func (p *Process) StartAgain() error {
	if err := p.start(); err != nil {
		return fmt.Errorf("natstest: %w", err)
	}
	return nil
}

func (p *Process) start() error {
	set, err := json.Marshal(p.set)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	var said strings.Builder
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), asServer+"="+string(set))
	cmd.Stderr = &said
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.running = cmd
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	late.Stop()
	if err != nil {
		p.Kill()
		return fmt.Errorf("the server did not start: %w: %s (does the program call natstest.Main?)", err, said.String())
	}
	p.url = strings.TrimSpace(line)
	_, err = fmt.Sscanf(p.url[strings.LastIndexByte(p.url, ':')+1:], "%d", &p.set.Port)
	return err
}
