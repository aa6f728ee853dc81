package private

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// process is one run of a program.
type process struct {
	cmd   *exec.Cmd
	ready chan struct{} // closed when it accepts connections
	done  chan struct{} // closed when it has ended and its log is read
	err   error         // of starting or of the exit; read after done

	mu  sync.Mutex
	log []string // the last lines
}

// run starts the command and returns at once. The process is ready when its log says the
// given words: an event to wait for instead of knocking again and again.
func run(cmd *exec.Cmd, ready string) *process {
	p := &process{cmd: cmd, ready: make(chan struct{}), done: make(chan struct{})}
	started := make(chan struct{})
	go func() {
		defer close(p.done)
		// The server is told to end with the thread that started it, so that it does not
		// outlive a test binary that is killed. So this thread must live as long as it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		in, out := io.Pipe()
		cmd.Stdout, cmd.Stderr = out, out // one log, whichever of the two the program uses
		err := cmd.Start()
		p.err = err
		close(started)
		if err != nil {
			return
		}
		var reading sync.WaitGroup
		reading.Go(func() { p.follow(in, ready) })
		p.err = cmd.Wait() // also until all children have closed the log
		_ = out.Close()
		reading.Wait()
	}()
	<-started
	return p
}

// follow reads the log to its end.
func (p *process) follow(log io.Reader, ready string) {
	once := sync.OnceFunc(func() { close(p.ready) })
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if strings.Contains(lines.Text(), ready) {
			once()
		}
		p.mu.Lock()
		if p.log = append(p.log, lines.Text()); len(p.log) > 50 {
			p.log = p.log[1:]
		}
		p.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, log) // a line too long for the scanner must not block the server
}

// failure is the exit and what was logged before it.
func (p *process) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Errorf("%s ended: %v\n%s", filepath.Base(p.cmd.Path), p.err, strings.Join(p.log, "\n"))
}
