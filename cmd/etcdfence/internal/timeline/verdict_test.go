package timeline

import (
	"errors"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

func TestSampleComesOut(t *testing.T) {
	if err := sample(t, 4).Check(); err != nil {
		t.Fatal(err)
	}
}

// Every way in which a story may not come out, alone.
func TestVerdict(t *testing.T) {
	const last, writeB = 12, 10
	for name, spoil := range map[string]func(s *Story){
		"the fence let A pass":        func(s *Story) { s.Acts[0].Events[last].Err = nil },
		"the store has A's value":     func(s *Story) { s.Acts[0].Holds = "v1" },
		"A was refused as a replay":   func(s *Story) { s.Acts[0].Events[last].Err = fence.ErrReplayed },
		"A was refused for no token":  func(s *Story) { s.Acts[0].Events[last].Err = fence.ErrNoToken },
		"B was refused":               func(s *Story) { s.Acts[0].Events[writeB].Err = fence.ErrStale },
		"A wrote before it continued": func(s *Story) { swap(s.Acts[0].Events, last, last-1) },
		"A wrote before B":            func(s *Story) { swap(s.Acts[0].Events, last, writeB) },
		"A never wrote":               func(s *Story) { s.Acts[0].Events = s.Acts[0].Events[:last] },
		"the contrast kept B's value": func(s *Story) { s.Acts[1].Holds = "v2" },
		"the contrast refused A":      func(s *Story) { s.Acts[1].Events[last-2].Err = errors.New("no") },
		"there was no contrast":       func(s *Story) { s.Acts = s.Acts[:1] },
		"there was nothing":           func(s *Story) { s.Acts = nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := sample(t, 4)
			spoil(&s)
			if s.Refused() && s.Lost() || s.Check() == nil {
				t.Error("it is taken for a story that came out")
			}
		})
	}
}

func swap(events []Event, i, j int) { events[i], events[j] = events[j], events[i] }
