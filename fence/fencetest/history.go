package fencetest

import (
	"fmt"
	"sync"

	"github.com/etcdfence/etcdfence/fence"
)

// Call is one call that the kit made.
type Call struct {
	Who   string      // the goroutine that called; "main" if the case has only one
	Call  string      // "Apply", "Claim", "Mark", "Read", "Rebase", "Reopen", "Crash", ...
	Stamp fence.Stamp // what was presented; for Mark what was found
	Value string      // what the change wrote; for Read what was found
	Err   error       // the result; nil also while there is none

	// Begin and End count the beginnings and ends of all calls of the case: one that
	// ended before another began came before it. End is 0 if the call has not returned.
	Begin, End int
}

// String is one line: who, what, with what, and the result.
func (c Call) String() string {
	text := fmt.Sprintf("%3d-%-3d %-8s %s", c.Begin, c.End, c.Who, c.Call)
	if !c.Stamp.IsZero() {
		text += fmt.Sprintf(" %v of %.40q", c.Stamp, c.Stamp.Token().Owner())
	}
	if c.Value != "" {
		text += fmt.Sprintf(" value %q", c.Value)
	}
	switch {
	case c.End == 0:
		return text + ": has not returned"
	case c.Err != nil:
		return fmt.Sprintf("%s: %v", text, c.Err)
	}
	return text + ": ok"
}

// history records calls from any goroutine.
type history struct {
	mu    sync.Mutex
	clock int
	calls []*Call
}

// begin notes a call that is about to be made.
func (h *history) begin(c Call) *Call {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	c.Begin = h.clock
	h.calls = append(h.calls, &c)
	return &c
}

// end notes that it returned. found, which may be nil, completes the note.
func (h *history) end(c *Call, err error, found func(*Call)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	c.End, c.Err = h.clock, err
	if found != nil {
		found(c)
	}
}

// all is a copy: calls that hang may still return while somebody reads it.
func (h *history) all() []Call {
	h.mu.Lock()
	defer h.mu.Unlock()
	calls := make([]Call, len(h.calls))
	for i, c := range h.calls {
		calls[i] = *c
	}
	return calls
}
