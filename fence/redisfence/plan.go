package redisfence

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
)

// A script is not rolled back when one of its commands fails. So none may: a plan follows
// what a change makes of each key, and gathers what that needs of the keys as they are
// found. fence.lua looks whether they are so before it writes anything.

// plan is what is known of a change.
type plan struct {
	err      error // the first thing that can never work
	reserved []string
	slot     int // of all keys, -1 for any
	keys     []string
	contents map[string]*content
	needs    []*need
}

// content is a key as the change has left it so far.
type content struct {
	kind   string // "" as long as every type will do
	own    bool   // nothing of what was found is left: it was set or deleted here
	set    bool   // it was set here, to value
	value  string
	fields map[string]*counter // of those that matter, by name; "" is the string itself
}

// counter is what may be incremented: known, if it was set here; otherwise the sum of what
// was added, and the bounds of what must be found so that no addition leaves the range.
type counter struct {
	known     bool
	text      string   // what it was set to, if value is nil
	value     *big.Int // nil as long as nothing was added
	low, high *big.Int
}

// need is what a key must hold as it is found: nothing, or the type, and in it a counter
// within its bounds.
type need struct {
	key, kind, field string
	counter          *counter // nil if the type is all
}

var (
	minInt = big.NewInt(-1 << 63)
	maxInt = big.NewInt(1<<63 - 1)
)

// touch declares a key.
func (p *plan) touch(key string) bool {
	switch {
	case p.err != nil:
	case slices.Contains(p.reserved, key):
		p.fail("the key %.80q is the fence's own", key)
	case p.slot >= 0 && slot(key) != p.slot:
		p.err = fmt.Errorf("%w: %.80q is in %d, and %.80q in %d", ErrSlot, key, slot(key), p.reserved[0], p.slot)
	case len(key) > MaxBytes:
		p.fail("a key has %d bytes, more than %d", len(key), MaxBytes)
	case p.contents[key] == nil:
		if p.contents == nil {
			p.contents = map[string]*content{}
		}
		p.contents[key] = &content{}
		p.keys = append(p.keys, key)
	}
	return p.err == nil
}

// use asks for a type of a key that was touched.
func (p *plan) use(key, kind string) bool {
	c := p.contents[key]
	switch {
	case kind == "" || c.kind == kind:
		return true
	case c.kind != "":
		p.fail("%.80q is a %s by an earlier command, and may still be one where a %s is needed", key, c.kind, kind)
		return false
	}
	if c.kind = kind; !c.own {
		p.needs = append(p.needs, &need{key: key, kind: kind})
	}
	return true
}

// become forgets what a key was.
func (p *plan) become(key, kind, value string) {
	if p.err != nil {
		return
	}
	p.contents[key] = &content{kind: kind, own: true, set: kind != "", value: value}
}

// setField notes what a field of a hash is now.
func (p *plan) setField(key, field, value string) {
	if p.err == nil {
		p.contents[key].field(field, &counter{known: true, text: value})
	}
}

func (c *content) field(name string, n *counter) *counter {
	if c.fields == nil {
		c.fields = map[string]*counter{}
	}
	c.fields[name] = n
	return n
}

// increment adds to a counter.
func (p *plan) increment(key, field string, by int64) {
	if p.err != nil {
		return
	}
	c := p.contents[key]
	n := c.fields[field]
	switch {
	case n == nil && c.set:
		n = c.field(field, &counter{known: true, text: c.value})
	case n == nil && c.own:
		n = c.field(field, &counter{known: true, text: "0"})
	case n == nil:
		n = c.field(field, &counter{value: new(big.Int), low: minInt, high: maxInt})
		p.needs = append(p.needs, &need{key, c.kind, field, n})
	}
	if n.value == nil && !n.read() {
		p.fail("%.80q %.80q is no integer by an earlier command", key, field)
		return
	}
	n.value.Add(n.value, big.NewInt(by))
	if n.known && !inRange(n.value) || !n.known && !n.narrow() {
		p.fail("%.80q %.80q leaves the range of 64 bits by %+d", key, field, by)
	}
}

// read takes the text for an integer, as Redis does.
func (n *counter) read() bool {
	value, err := strconv.ParseInt(n.text, 10, 64)
	n.value = big.NewInt(value)
	return err == nil && strconv.FormatInt(value, 10) == n.text
}

// narrow moves the bounds so that what is found stays in range together with the sum. It
// is false if nothing does.
func (n *counter) narrow() bool {
	if low := new(big.Int).Sub(minInt, n.value); low.Cmp(n.low) > 0 {
		n.low = low
	}
	if high := new(big.Int).Sub(maxInt, n.value); high.Cmp(n.high) < 0 {
		n.high = high
	}
	return n.low.Cmp(n.high) <= 0
}

func inRange(n *big.Int) bool { return n.Cmp(minInt) >= 0 && n.Cmp(maxInt) <= 0 }

// args are the needs as fence.lua takes them.
func (p *plan) args(args []any) []any {
	for _, n := range p.needs {
		low, high := "", ""
		if n.counter != nil {
			low, high = n.counter.low.String(), n.counter.high.String()
		}
		args = append(args, n.key, n.kind, n.field, low, high)
	}
	return args
}
