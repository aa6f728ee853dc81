package timeline

import (
	"encoding/json"
	"io"
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

type jsonStory struct {
	Etcd       Etcd      `json:"etcd"`
	Store      string    `json:"store"`
	Lock       string    `json:"lock"`
	TTL        float64   `json:"ttl_seconds"`
	Acts       []jsonAct `json:"acts"`
	Refused    bool      `json:"stale_write_refused"`
	Lost       bool      `json:"value_lost_without_fence"`
	Conclusion string    `json:"conclusion"`
}

type jsonAct struct {
	Fence  bool        `json:"fence"`
	Events []jsonEvent `json:"events"`
	Holds  string      `json:"holds"`
}

type jsonEvent struct {
	At     float64      `json:"seconds"`
	Who    Who          `json:"who"`
	Kind   Kind         `json:"event"`
	Of     Who          `json:"of,omitempty"`
	Token  *fence.Token `json:"token,omitempty"`
	Value  string       `json:"value,omitempty"`
	TTL    float64      `json:"ttl_seconds,omitempty"`
	PID    int          `json:"pid,omitempty"`
	Answer string       `json:"answer,omitempty"` // accepted, ok, refused; yes
	Reason string       `json:"reason,omitempty"` // the store's error
}

// JSON writes the story as one object. Tokens have the form that package fence gives
// them, with numbers as strings.
func JSON(w io.Writer, s Story) error {
	out := jsonStory{Etcd: s.Etcd, Store: s.Store, Lock: s.Lock, TTL: s.TTL.Seconds(),
		Refused: s.Refused(), Lost: s.Lost(), Conclusion: s.Conclusion()}
	for _, act := range s.Acts {
		a := jsonAct{Fence: act.Fence, Holds: act.Holds}
		for _, e := range act.Events {
			a.Events = append(a.Events, toJSON(e))
		}
		out.Acts = append(out.Acts, a)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

func toJSON(e Event) jsonEvent {
	j := jsonEvent{At: e.At.Round(time.Microsecond).Seconds(), Who: e.Who, Kind: e.Kind, Of: e.Of, Value: e.Value,
		TTL: e.TTL.Seconds(), PID: e.PID}
	if !e.Token.IsZero() {
		j.Token = &e.Token
	}
	j.Answer, _ = reply(e)
	if e.Err != nil {
		j.Answer, j.Reason = "refused", e.Err.Error()
	}
	return j
}
