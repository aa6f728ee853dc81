package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/timeline"
)

// WorkerVerb is the hidden verb under which the program is its own worker.
const WorkerVerb = "demo-worker"

// actor is a worker's process as the director sees it.
type actor struct {
	who     timeline.Who
	cmd     *exec.Cmd
	in      io.WriteCloser
	orders  *json.Encoder
	reports chan report   // closed when the process says no more
	ended   chan struct{} // closed when it has been joined
	err     error         // of starting or of its exit; read after ended
	still   bool          // it is stopped
	said    strings.Builder
}

// hire starts a worker and gives it its job. program is the path of this program and
// the name it was called by.
func hire(program []string, who timeline.Who, j job, line *os.File) (*actor, error) {
	a := &actor{who: who, reports: make(chan report, 8), ended: make(chan struct{})} // 8: more than a worker has to say
	a.cmd = exec.Command(program[0], WorkerVerb)
	a.cmd.Args[0] = program[1]
	a.cmd.Stderr = &a.said
	if line != nil {
		a.cmd.ExtraFiles = []*os.File{line}
		defer line.Close()
	}
	apart(a.cmd)
	started := make(chan error)
	go a.live(started)
	if err := <-started; err != nil {
		<-a.ended
		return nil, fmt.Errorf("starting worker %s: %w", who, err)
	}
	a.orders = json.NewEncoder(a.in)
	if err := a.orders.Encode(j); err != nil {
		a.quit()
		return nil, fmt.Errorf("worker %s takes no job: %w", who, a.failure())
	}
	return a, nil
}

// live runs the process to its end. Where a worker dies with its director, it really
// dies with the thread that started it, so that thread has to stay.
func (a *actor) live(started chan<- error) {
	defer close(a.ended)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	in, err1 := a.cmd.StdinPipe()
	out, err2 := a.cmd.StdoutPipe()
	if a.err = errors.Join(err1, err2); a.err == nil {
		a.err = a.cmd.Start()
	}
	a.in = in
	started <- a.err
	if a.err != nil {
		return
	}
	for d := json.NewDecoder(out); ; {
		var r report
		if d.Decode(&r) != nil {
			break
		}
		a.reports <- r
	}
	close(a.reports)
	a.err = a.cmd.Wait()
}

// expect waits for a report of the given kind.
func (a *actor) expect(ctx context.Context, kind timeline.Kind) (report, error) {
	select {
	case r, ok := <-a.reports:
		switch {
		case !ok:
			<-a.ended
			return r, a.failure()
		case r.Failed != "":
			return r, fmt.Errorf("worker %s gave up: %s", a.who, r.Failed)
		case r.Kind != kind:
			return r, fmt.Errorf("worker %s says %q where %q was expected", a.who, r.Kind, kind)
		}
		return r, nil
	case <-ctx.Done():
		return report{}, fmt.Errorf("waiting for %q of worker %s: %w", kind, a.who, context.Cause(ctx))
	}
}

// silent fails if the worker has reported anything since.
func (a *actor) silent() error {
	if len(a.reports) > 0 {
		return fmt.Errorf("worker %s went on although it was stopped", a.who)
	}
	return nil
}

// proceed lets the worker go on. A worker that is stopped finds it when it continues.
func (a *actor) proceed() error {
	if err := a.orders.Encode(proceed{}); err != nil {
		return fmt.Errorf("worker %s cannot be told: %w", a.who, err)
	}
	return nil
}

// dismissed waits until the worker has cleaned up and ended by itself.
func (a *actor) dismissed(ctx context.Context) error {
	select {
	case <-a.ended:
		if a.err != nil {
			return a.failure()
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the end of worker %s: %w", a.who, context.Cause(ctx))
	}
}

// grace is what a worker gets to give its lease back when the story ends early.
const grace = time.Second

// quit ends the worker and joins it. One that runs is asked first, because it may have a
// lease that nobody else knows of; one that is stopped would go on and write, so it is
// killed, and its lease is found by its key. Quitting one that has ended does nothing.
func (a *actor) quit() {
	a.in.Close()
	if !a.still {
		late := time.AfterFunc(grace, func() { _ = a.cmd.Process.Kill() })
		defer late.Stop()
	} else {
		_ = a.cmd.Process.Kill()
	}
	<-a.ended
}

func (a *actor) failure() error {
	if said := strings.TrimSpace(a.said.String()); said != "" {
		return fmt.Errorf("worker %s ended (%v): %s", a.who, a.err, cli.OneLine(errors.New(said)))
	}
	return fmt.Errorf("worker %s ended: %v", a.who, a.err)
}
