// Package epoch compares the marks of stores with etcd's revision: after a restore of etcd
// they are ahead of it, and every new holder is refused.
package epoch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/marks"
	"github.com/etcdfence/etcdfence/fence"
)

// Options of [Run].
type Options struct {
	Epoch   int64    // what the programs use
	Stores  []string // KIND=DSN
	Table   string
	JSON    bool
	Timeout time.Duration // for each question
}

// Verdict is what a mark means to the next holder.
type Verdict string

// The verdicts.
const (
	Fine       Verdict = "fine"        // the next token is newer
	Ahead      Verdict = "ahead"       // of etcd: it was rolled back
	NewerEpoch Verdict = "newer epoch" // than the programs'
)

// Report is what was found.
type Report struct {
	Revision int64  `json:"revision,string"` // etcd's
	Cluster  string `json:"cluster"`         // its id, which a restore may keep
	Epoch    int64  `json:"epoch"`
	Marks    []Mark `json:"marks"`
	Raise    int64  `json:"raise_epoch_to,omitempty"` // 0: there is no need
}

// Mark is one of them.
type Mark struct {
	Store   string      `json:"store"`
	Mark    fence.Stamp `json:"mark"`
	Verdict Verdict     `json:"verdict"`
}

// Run prints the report. It returns an error if holders to come would be refused.
func Run(ctx context.Context, client *clientv3.Client, o Options, out io.Writer) error {
	r, err := read(ctx, client, o)
	if err != nil {
		return err
	}
	r.judge()
	if o.JSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		_, err = io.WriteString(out, r.text())
	}
	if err != nil {
		return err
	}
	if r.Raise > 0 {
		return &cli.ExitError{ExitCode: cli.Failed} // the report has said it
	}
	return nil
}

func read(ctx context.Context, client *clientv3.Client, o Options) (*Report, error) {
	r := &Report{Epoch: o.Epoch, Marks: []Mark{}}
	// The marks first: etcd's revision may rise meanwhile, and must not be taken for older.
	for _, spec := range o.Stores {
		if err := r.readStore(ctx, spec, o); err != nil {
			return nil, cli.AsUnusable(err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	resp, err := client.Get(ctx, "\x00", clientv3.WithCountOnly()) // linearizable: no lagging member
	if err != nil {
		return nil, cli.Unusablef("asking etcd for its revision: %w", err)
	}
	r.Revision, r.Cluster = resp.Header.Revision, fmt.Sprintf("%x", resp.Header.ClusterId)
	return r, nil
}

func (r *Report) readStore(ctx context.Context, spec string, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	store, err := marks.Open(spec)
	if err != nil {
		return fmt.Errorf("--marks: %w", err)
	}
	defer store.Close()
	list, err := store.All(ctx, o.Table)
	if err != nil {
		return fmt.Errorf("--marks: %w", err)
	}
	for _, m := range list {
		r.Marks = append(r.Marks, Mark{Store: store.Name, Mark: m})
	}
	return nil
}

// judge compares each mark with the least token that etcd can still grant: the programs'
// epoch and the next revision.
func (r *Report) judge() {
	highest, rolledBack := r.Epoch, false
	for i, m := range r.Marks {
		t := m.Mark.Token()
		highest = max(highest, t.Epoch())
		switch {
		case t.Epoch() > r.Epoch:
			r.Marks[i].Verdict = NewerEpoch
			r.Raise = max(r.Raise, t.Epoch())
		case t.Epoch() == r.Epoch && t.Revision() > r.Revision:
			r.Marks[i].Verdict = Ahead
			rolledBack = true
		default:
			r.Marks[i].Verdict = Fine
		}
	}
	if rolledBack {
		r.Raise = highest + 1
	}
}
