package mariatest

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
)

// ready is what the server logs once it accepts connections: an event to wait for
// instead of knocking again and again..
const ready = "ready for connections"

// process is one run of the mariadbd program.
type process struct {
	cmd   *exec.Cmd
	ready chan struct{} // closed when it accepts connections
	done  chan struct{} // closed when it has ended and its log is read
	err   error         // of starting or of the exit; read after done

	mu  sync.Mutex
	log []string // the last lines
}

// start runs the command and returns at once.
func start(cmd *exec.Cmd) *process {
	p := &process{cmd: cmd, ready: make(chan struct{}), done: make(chan struct{})}
	started := make(chan struct{})
	go func() {
		defer close(p.done)
		// The server is told to end with the thread that started it, so that it does not
		// outlive a test binary that is killed. So this thread must live as long as it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		log, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		p.err = err
		close(started)
		if err != nil {
			return
		}
		p.follow(log)
		p.err = cmd.Wait()
	}()
	<-started
	return p
}

// follow reads the log until the server has closed it.
func (p *process) follow(log io.Reader) {
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
	return fmt.Errorf("mariadbd ended: %v\n%s", p.err, strings.Join(p.log, "\n"))
}
