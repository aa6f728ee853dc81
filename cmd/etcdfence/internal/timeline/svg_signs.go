package timeline

// Signs differ in shape and not in colour alone.

func (c *canvas) dot(x, y int, class string) {
	c.add(`<circle cx="%d" cy="%d" r="5" class="%s"/>`, x, y, class)
}

func (c *canvas) diamond(x, y int, class string) {
	c.add(`<path d="M%d %dl9 9l-9 9l-9 -9Z" class="%s"/>`, x, y-9, class)
}

// pause is the two bars that everybody knows from a player.
func (c *canvas) pause(x, y int) {
	c.add(`<circle cx="%d" cy="%d" r="14" class="pause"/>`, x, y)
	c.rect(x-6, y-7, 4, 14, 1, "pause-bar")
	c.rect(x+2, y-7, 4, 14, 1, "pause-bar")
}

// wait is three dots, one below the other: time passes.
func (c *canvas) wait(x, y int) {
	for _, dy := range []int{-8, 0, 8} {
		c.add(`<circle cx="%d" cy="%d" r="1.7" class="wait"/>`, x, y+dy)
	}
}

// sign is a tick in a circle, or a cross in an octagon.
func (c *canvas) sign(x, y int, good bool) {
	if good {
		c.add(`<circle cx="%d" cy="%d" r="9" class="good-fill"/>`, x, y)
		c.add(`<path d="M%d %dl3.5 4l6 -8" class="tick"/>`, x-5, y)
		return
	}
	c.stop(x, y)
}

// stop is an octagon with a cross, as on a road.
func (c *canvas) stop(x, y int) {
	c.add(`<path d="M%d %dh8l6 6v8l-6 6h-8l-6 -6v-8Z" class="bad-fill"/>`, x-4, y-10)
	c.add(`<path d="M%d %dl8 8m0 -8l-8 8" class="tick"/>`, x-4, y-4)
}

// verdict is the store's answer, to the right of its lane: a word in a box, and what
// the store has now.
func (c *canvas) verdict(x, y int, good bool, word, below string) {
	class := "good-box"
	if !good {
		class = "bad-box"
	}
	c.rect(x+14, y-17, 100, 20, 10, class)
	c.middle(x+64, y-3, "strong "+goodText(good), word)
	c.middle(x+64, y+17, "small", below)
}
