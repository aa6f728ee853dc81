package timeline

import "fmt"

// actFrames is one act as the page has it.
type actFrames struct {
	Title  string  `json:"title"`
	Sub    string  `json:"sub"`
	Frames []frame `json:"frames"`
}

// frame is what can be seen once an event has happened: the event, and how everybody stands
// then. A word in Class is for the colours, which never stand alone.
type frame struct {
	Time   string `json:"time"`
	Who    Who    `json:"who"`
	Token  string `json:"token"`
	What   string `json:"what"`
	Answer string `json:"answer"`
	Good   bool   `json:"good"`

	A     figure `json:"a"`
	B     figure `json:"b"`
	Etcd  figure `json:"etcd"`
	Store figure `json:"store"`
}

type figure struct {
	Text  string `json:"text"`
	More  string `json:"more"`
	Class string `json:"class"`
}

func frames(s Story) []actFrames {
	var all []actFrames
	for _, act := range s.Acts {
		title, sub := "With a fence", "the store remembers the newest token and refuses older ones"
		if !act.Fence {
			title, sub = "Without a fence", "the same story, and a store that takes every write"
		}
		f := actFrames{Title: title, Sub: sub}
		now := opening(act.Fence)
		for _, e := range act.Events {
			now = now.after(e)
			f.Frames = append(f.Frames, now)
		}
		f.Frames = append(f.Frames, now.end(act))
		all = append(all, f)
	}
	return all
}

func opening(fence bool) frame {
	store := figure{Text: "nothing yet", More: "newest token: none"}
	if !fence {
		store.More = "knows no tokens"
	}
	return frame{A: figure{Text: "idle"}, B: figure{Text: "idle"}, Etcd: figure{Text: "the lock is free"}, Store: store}
}

// after returns the next frame.
func (f frame) after(e Event) frame {
	f.Time, f.Who, f.What = seconds(e.At), e.Who, sentence(e)
	f.Token = ""
	if !e.Token.IsZero() {
		f.Token = revision(e)
	}
	f.Answer, f.Good = reply(e)
	switch e.Kind {
	case Asked:
		*f.worker(e.Who) = figure{Text: "wants the lock", Class: "waits"}
	case Granted:
		*f.worker(e.Of) = figure{Text: "holds the lock", More: "token " + brief(e), Class: "holds"}
		f.Etcd = figure{Text: fmt.Sprintf("%s holds the lock", e.Of), More: "token " + brief(e), Class: "holds"}
	case Claimed:
		if e.Err == nil {
			f.Store.More, f.Store.Class = "newest token: "+brief(e), "good"
		}
	case Stopped:
		f.worker(e.Who).Text, f.worker(e.Who).Class = "STOPPED", "still"
	case Expired:
		f.Etcd = figure{Text: "the lease has run out", More: "the lock is free", Class: "waits"}
	case Continued:
		f.worker(e.Who).Text, f.worker(e.Who).Class = "believes that it holds the lock", "late"
	case Wrote:
		f.write(e)
	case Checked: // changes nothing, which is the point
	}
	return f
}

func (f *frame) write(e Event) {
	switch {
	case e.Err != nil:
		f.Store.Class = "good"
		f.worker(e.Who).Text, f.worker(e.Who).Class = "was refused: it knows now", "bad"
	case f.worker(e.Who).Class == "late":
		f.Store.Text, f.Store.Class = "holds "+e.Value, "bad"
		f.worker(e.Who).Text = "was told ok"
	default:
		f.Store.Text, f.Store.Class = "holds "+e.Value, "good"
		if e.Check {
			f.Store.More = "newest token: " + brief(e)
		}
	}
}

// end is the last frame of an act.
func (f frame) end(a Act) frame {
	f.Who, f.Token, f.Answer, f.Time = Keeper, "", "", ""
	f.What = fmt.Sprintf("has %s at the end", a.Holds)
	return f
}

func (f *frame) worker(w Who) *figure {
	if w == B {
		return &f.B
	}
	return &f.A
}
