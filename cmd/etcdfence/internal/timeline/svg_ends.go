package timeline

import "fmt"

// drawEnds draws, side by side, how the story ends with a fence and without.
func drawEnds(c *canvas, s Story, y int) {
	const between = 20
	const w = (width - 2*margin - between) / 2
	drawEnd(c, s, true, margin, y, w, s.Refused())
	drawEnd(c, s, false, margin+w+between, y, w, !s.Lost())
}

func drawEnd(c *canvas, s Story, fenced bool, x, y, w int, good bool) {
	class, title := "card good-card", "With a fence: the store refuses older tokens"
	if !fenced {
		title = "Without one: the same story, every write is taken"
	}
	if !good {
		class = "card bad-card"
	}
	c.rect(x, y, w, 146, 10, class)
	c.text(x+18, y+30, "name", title)
	a, b, _ := s.late(fenced)
	for i, e := range []Event{b, a} {
		line := y + 58 + 26*i
		c.end(x+76, line, "time", seconds(e.At))
		words := fmt.Sprintf("%s writes %s", e.Who, e.Value)
		if fenced {
			words += ", token " + brief(e)
		}
		c.text(x+90, line, "label", words)
		answer, ok := reply(e)
		if !ok {
			answer = "REFUSED: stale"
		}
		c.sign(x+w-168, line-4, ok)
		c.text(x+w-152, line, "strong "+goodText(ok), answer)
	}
	c.line(x+18, y+98, x+w-18, y+98, "rule")
	c.sign(x+28, y+119, good)
	c.text(x+46, y+124, "strong "+goodText(good), ending(s, fenced, good))
}

// ending says what is in the store now.
func ending(s Story, fenced, good bool) string {
	has := "The store has " + s.act(fenced).Holds
	switch {
	case good && fenced:
		return has + ", the newer value."
	case !good && !fenced:
		return has + ": the newer " + valueOf(s, B) + " is lost."
	}
	return has + "."
}

func goodText(good bool) string {
	if good {
		return "good-text"
	}
	return "bad-text"
}
