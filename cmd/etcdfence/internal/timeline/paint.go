package timeline

import "fmt"

// paint puts colours on text, or leaves it as it is. The sixteen colours of every
// terminal, so that they fit its background.
type paint bool

func (p paint) in(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string { return p.in("1", s) }
func (p paint) dim(s string) string  { return p.in("2", s) }

// who is a name of fixed width.
func (p paint) who(w Who) string {
	code := map[Who]string{A: "33", B: "36", Cluster: "35", Keeper: "34"}[w]
	return p.in(code, fmt.Sprintf("%-5s", w))
}

// answer is green or red if it is the store's, which is what the story is about.
func (p paint) answer(s string, stores, good bool) string {
	switch {
	case !good:
		return p.in("1;31", s)
	case stores:
		return p.in("32", s)
	}
	return s
}
