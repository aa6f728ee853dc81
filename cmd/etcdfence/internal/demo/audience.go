package demo

import (
	"io"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/timeline"
)

// audience is told of everything when it happens. An error of it ends the story.
type audience interface {
	begin(timeline.Story) error
	act(timeline.Act) error
	event(timeline.Event) error
	end(timeline.Act) error
	conclude(timeline.Story) error
}

func (o Options) audience(out io.Writer) audience {
	if o.JSON {
		return machine{out}
	}
	return person{timeline.NewText(out, o.Colour)}
}

// person reads along.
type person struct{ text *timeline.Text }

func (p person) begin(s timeline.Story) error    { p.text.Begin(s); return p.err() }
func (p person) act(a timeline.Act) error        { p.text.Act(a); return p.err() }
func (p person) event(e timeline.Event) error    { p.text.Event(e); return p.err() }
func (p person) end(a timeline.Act) error        { p.text.End(a); return p.err() }
func (p person) conclude(s timeline.Story) error { p.text.Conclude(s); return p.err() }
func (p person) err() error                      { return cannotWrite(p.text.Err()) }

// machine waits for the end, and wants one object.
type machine struct{ out io.Writer }

func (machine) begin(timeline.Story) error        { return nil }
func (machine) act(timeline.Act) error            { return nil }
func (machine) event(timeline.Event) error        { return nil }
func (machine) end(timeline.Act) error            { return nil }
func (m machine) conclude(s timeline.Story) error { return cannotWrite(timeline.JSON(m.out, s)) }

func cannotWrite(err error) error {
	if err == nil {
		return nil
	}
	return cli.Unusablef("cannot write the timeline: %w", err)
}
