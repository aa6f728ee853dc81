package status

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// table is what people read.
func (s *screen) table(views []view) string {
	if len(views) == 0 {
		what := "no lock is held"
		if s.Lock != "" {
			what = fmt.Sprintf("the lock %q is free", s.Lock)
		}
		return what + "\n"
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "LOCK\tIT\tREVISION\tWHO\tFOR\tLEASE\tLEFT")
	for _, v := range views {
		row(w, printable(v.Lock), "holds", v.Holder)
		for i, e := range v.Queue {
			row(w, "", fmt.Sprintf("waits, %d.", i+1), e)
		}
	}
	_ = w.Flush() // into memory
	lines := strings.SplitAfter(b.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \n")
	}
	text := strings.Join(lines, "\n")
	if !s.Colour {
		return text
	}
	head, rest, _ := strings.Cut(text, "\n")
	return "\x1b[1m" + head + "\x1b[0m\n" + rest
}

func row(w *tabwriter.Writer, lock, place string, e entry) {
	left := "gone"
	if e.TTL > 0 {
		left = fmt.Sprintf("%v of %v", seconds(e.Left), seconds(e.TTL))
	}
	fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", lock, place, e.Revision, cmp.Or(printable(e.Owner), "-"), age(e), e.Lease, left)
}

// age is how long the key has been there, as its maker says or as far as it was watched.
func age(e entry) string {
	switch {
	case e.Age > 0:
		return seconds(e.Age).String()
	case e.Watched > 0 && e.older:
		return "over " + seconds(e.Watched).String()
	case e.Watched > 0:
		return seconds(e.Watched).String()
	}
	return "-"
}

func seconds(f float64) time.Duration {
	return time.Duration(f * float64(time.Second)).Round(time.Second)
}

// printable quotes what would disturb a terminal: anybody can write keys.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
