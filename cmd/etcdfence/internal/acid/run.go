package acid

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

// Options of [Run].
type Options struct {
	Target  string // for the report, without secrets
	Lock    string
	Epoch   int64
	From    int64 // the first generation; whatever the boundary has accepted must be older
	Rounds  int
	Timeout time.Duration

	Progress func(done, all int, title string) // nil: none
}

// Verdict is what came of one test.
type Verdict string

// The verdicts.
const (
	Holds   Verdict = "holds"
	Broken  Verdict = "broken"
	Unknown Verdict = "unknown" // it could not be asked
)

// Result is one test's.
type Result struct {
	Rule    string   `json:"rule"`
	Title   string   `json:"title"`
	Why     string   `json:"why"`
	Verdict Verdict  `json:"verdict"`
	Details []string `json:"details,omitempty"`
	History []string `json:"history,omitempty"` // the last stamps that were presented
}

// Report is what is known at the end.
type Report struct {
	Target  string    `json:"target"`
	Lock    string    `json:"lock"`
	When    time.Time `json:"when"`
	Seconds float64   `json:"seconds"`
	Read    bool      `json:"read"` // whether the boundary could be asked what it holds
	Results []Result  `json:"results"`
}

// Count is how many tests came out in a way.
func (r *Report) Count(v Verdict) (n int) {
	for _, result := range r.Results {
		if result.Verdict == v {
			n++
		}
	}
	return n
}

// most is how many details of one result are worth reading.
const most = 5

// Run asks all questions. The boundary's data are overwritten. An error means that there is
// no report: ctx has ended, or the boundary cannot be read at all.
func Run(ctx context.Context, b Boundary, o Options) (*Report, error) {
	token, err := fence.NewToken(o.Lock, o.Epoch, max(1, o.From-1), "etcdfence check")
	if err != nil {
		return nil, err
	}
	r := &Report{Target: o.Target, Lock: o.Lock, When: time.Now().UTC().Truncate(time.Second)}
	s := &session{ctx: ctx, boundary: b, lock: o.Lock, mark: token.At(0), rounds: o.Rounds, timeout: o.Timeout}
	rctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	switch _, err := b.Read(rctx); {
	case err == nil:
		s.readable = true
	case !errors.Is(err, ErrNoRead):
		return nil, err
	}
	r.Read = s.readable
	begin := time.Now()
	for i, t := range tests {
		if o.Progress != nil {
			o.Progress(i, len(tests), t.title)
		}
		s.now = &Result{Rule: t.rule, Title: t.title, Why: t.why, Verdict: Holds}
		t.run(s)
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if s.now.Verdict == Holds {
			s.now.History = nil
		}
		if extra := len(s.now.Details) - most; extra > 0 {
			s.now.Details = append(s.now.Details[:most], fmt.Sprintf("and %d more", extra))
		}
		r.Results = append(r.Results, *s.now)
		if i == 0 && s.now.Verdict == Broken {
			return r, nil // nothing else could be told from what follows
		}
	}
	if o.Progress != nil {
		o.Progress(len(tests), len(tests), "done")
	}
	r.Seconds = time.Since(begin).Seconds()
	return r, nil
}
