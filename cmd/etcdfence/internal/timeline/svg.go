package timeline

import (
	"fmt"
	"io"
)

// The picture is a table of lanes: time runs down, and every event is a row.
const (
	width    = 1000
	margin   = 24
	lanesTop = 112 // upper edge of the heads of the lanes
	firstRow = lanesTop + 84
	rowStep  = 42
	gapStep  = 26 // more, where a long time passes
	gap      = 0.5
	timeX    = 96 // right edge of the times
)

// laneX is where each of the cast has its lane.
var laneX = map[Who]int{A: 180, Cluster: 394, B: 608, Keeper: 846}

// SVG draws the story: the act with a fence as lanes, and below it how both acts end.
// It has a background of its own, so that it can be read on a dark page.
func SVG(w io.Writer, s Story) error {
	act := s.act(true)
	rows, bottom := layout(act.Events)
	c := &canvas{}
	height := bottom + 222
	c.open(width, height, "A late write, with and without a fence", s.Conclusion())
	c.text(margin, 44, "title", "A lock cannot stop a late write. A store that compares tokens can.")
	c.text(margin, 70, "sub", "Workers A and B take turns by a lock in etcd. With every grant comes a token, a number that only rises.")
	c.text(margin, 90, "sub", "A is stopped after its last check. Its lease runs out, B takes over, and A wakes up and writes what it had.")
	drawLanes(c, s, bottom)
	drawHolds(c, act.Events, rows, bottom)
	for i, e := range act.Events {
		if i > 0 && rows[i]-rows[i-1] > rowStep {
			c.wait(timeX-16, (rows[i]+rows[i-1])/2)
		}
		drawRow(c, e, rows[i])
	}
	drawEnds(c, s, bottom+32)
	c.text(margin, height-16, "foot", footer(s, "svg"))
	c.close()
	_, err := io.WriteString(w, c.String())
	return err
}

// layout gives each event its row, and a row more room if a long time has passed.
func layout(events []Event) (rows []int, bottom int) {
	y := firstRow
	for i, e := range events {
		if i > 0 {
			y += rowStep
			if (e.At - events[i-1].At).Seconds() > gap {
				y += gapStep
			}
		}
		rows = append(rows, y)
	}
	return rows, y + 24
}

func footer(s Story, flag string) string {
	etcd := "an etcd inside the program"
	if !s.Etcd.Embedded {
		etcd = "an etcd elsewhere"
	}
	return fmt.Sprintf("Drawn from one run of “etcdfence demo --%s”: %s, a lease of %s, the store: %s. Times are real, distances are not.",
		flag, etcd, short(s.TTL), s.Store)
}
