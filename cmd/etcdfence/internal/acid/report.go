package acid

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// Limits is what even the best report does not say.
const Limits = "What holds was seen to hold, and not proved. It cannot be seen from outside whether the mark " +
	"survives a crash or a failover, whether other writers go round this boundary, nor whether a race is lost " +
	"once in a million."

// Text writes the report for people.
func (r *Report) Text(w io.Writer, colour bool) error {
	paint := func(code, text string) string {
		if !colour {
			return text
		}
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, lock %q\n", r.Target, r.Lock)
	if !r.Read {
		fmt.Fprintf(&b, "It could not be read: whether a refused write changes something is not known.\n")
	}
	fmt.Fprintln(&b)
	for _, t := range r.Results {
		word := map[Verdict]string{Holds: paint("32", "holds  "), Broken: paint("1;31", "BROKEN "), Unknown: paint("33", "unknown")}[t.Verdict]
		fmt.Fprintf(&b, "  %s  %-4s  %s\n", word, t.Rule, t.Title)
		for _, d := range t.Details {
			fmt.Fprintf(&b, "%17s%s\n", "", d)
		}
		if t.Verdict == Broken {
			fmt.Fprintf(&b, "%17s%s\n", "", paint("1", "So: "+t.Why+"."))
		}
	}
	fmt.Fprintf(&b, "\n%s\n\n%s\n", r.Summary(), wrap(Limits, 84))
	_, err := io.WriteString(w, b.String())
	return err
}

// Summary is one sentence.
func (r *Report) Summary() string {
	s := fmt.Sprintf("%d of %d rules hold", r.Count(Holds), len(r.Results))
	if n := r.Count(Broken); n > 0 {
		s += fmt.Sprintf(", %d broken", n)
	}
	if n := r.Count(Unknown); n > 0 {
		s += fmt.Sprintf(", %d could not be asked", n)
	}
	if len(r.Results) < len(tests) {
		s += fmt.Sprintf("; the other %d were not asked after the first one failed", len(tests)-len(r.Results))
	}
	return s + "."
}

// JSON writes the report for programs.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		*Report
		Summary string `json:"summary"`
	}{r, r.Summary()})
}

//go:embed report.html
var page string

var reportPage = template.Must(template.New("report").Parse(page))

// HTML writes the report as a page that needs nothing but itself.
func (r *Report) HTML(w io.Writer) error {
	return reportPage.Execute(w, struct {
		*Report
		Summary, Limits string
	}{r, r.Summary(), Limits})
}

func wrap(s string, width int) string {
	var b strings.Builder
	n := 0
	for i, word := range strings.Fields(s) {
		switch {
		case i == 0:
		case n+1+len(word) > width:
			b.WriteByte('\n')
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += len(word)
	}
	return b.String()
}
