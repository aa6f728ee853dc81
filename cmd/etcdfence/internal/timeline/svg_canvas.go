package timeline

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// canvas collects the shapes of a picture.
type canvas struct{ strings.Builder }

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
	return b.String()
}

func (c *canvas) open(w, h int, title, description string) {
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-labelledby="t d">`, w, h)
	c.add(`<title id="t">%s</title>`, escape(title))
	c.add(`<desc id="d">%s</desc>`, escape(description))
	c.add("<style>%s</style>", style)
	c.add(`<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
		`<rect width="3" height="7" class="hatch"/></pattern></defs>`)
	c.add(`<rect x="0.5" y="0.5" width="%d" height="%d" rx="12" class="paper"/>`, w-1, h-1)
}

func (c *canvas) close() { c.add("</svg>") }

func (c *canvas) rect(x, y, w, h, r int, class string) {
	c.add(`<rect x="%d" y="%d" width="%d" height="%d" rx="%d" class="%s"/>`, x, y, w, max(h, 0), r, class)
}

func (c *canvas) line(x1, y1, x2, y2 int, class string) {
	c.add(`<line x1="%d" y1="%d" x2="%d" y2="%d" class="%s"/>`, x1, y1, x2, y2, class)
}

func (c *canvas) words(x, y int, anchor, class, s string) {
	c.add(`<text x="%d" y="%d" text-anchor="%s" class="%s">%s</text>`, x, y, anchor, class, escape(s))
}

func (c *canvas) text(x, y int, class, s string)   { c.words(x, y, "start", class, s) }
func (c *canvas) end(x, y int, class, s string)    { c.words(x, y, "end", class, s) }
func (c *canvas) middle(x, y int, class, s string) { c.words(x, y, "middle", class, s) }

// label is text in the middle between two lanes.
func (c *canvas) label(x1, x2, y int, class, s string) { c.middle((x1+x2)/2, y, class, s) }

// arrow is a line with a head, which ends a little before the lane it goes to.
func (c *canvas) arrow(x1, x2, y int, class string) {
	d := 1
	if x2 < x1 {
		d = -1
	}
	x1, x2 = x1+8*d, x2-8*d
	c.line(x1, y, x2-8*d, y, class)
	c.add(`<path d="M%d %dL%d %dL%[1]d %[5]dZ" class="%s-fill"/>`, x2-10*d, y-5, x2, y, y+5, class)
}
