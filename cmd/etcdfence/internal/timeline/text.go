package timeline

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Text writes a story line by line while it happens. Its zero colours are none, so
// that what is piped has no escape sequences; every colour also has a word.
type Text struct {
	w     io.Writer
	paint paint
	token int   // width of the column, which grows with the tokens
	err   error // of the first write that failed
}

// NewText returns a writer of text, with colours if colour is true.
func NewText(w io.Writer, colour bool) *Text { return &Text{w: w, paint: paint(colour), token: 5} }

// Begin introduces the story; the granted TTL is not known yet.
func (t *Text) Begin(s Story) {
	etcd := strings.Join(s.Etcd.Endpoints, ",")
	if s.Etcd.Embedded {
		etcd = "one inside this program"
	}
	t.printf("Two workers, A and B, write to one store (%s). A lock in etcd (%s)\n", s.Store, etcd)
	t.printf("lets in one of them at a time. With each grant of the lock comes a token, a number\n")
	t.printf("that only rises. A is stopped between its last check and its write.\n")
}

// Act begins an act.
func (t *Text) Act(a Act) {
	title, rest := "WITH A FENCE", "the store remembers the newest token and refuses older ones"
	if !a.Fence {
		title, rest = "WITHOUT A FENCE", "the same story, and a store that takes every write"
	}
	t.printf("\n%s: %s\n\n", t.paint.bold(title), rest)
	t.printf("%s\n", t.paint.dim(fmt.Sprintf("%9s  %-5s  %*s  %-*s  %s", "time", "who", t.token, "token", whatWidth, "what happens", "answer")))
}

const whatWidth = 40

// Event writes one line.
func (t *Text) Event(e Event) {
	token := ""
	if !e.Token.IsZero() {
		token = revision(e)
		t.token = max(t.token, len(token))
	}
	what := sentence(e)
	answer, good := reply(e)
	pad := ""
	if answer != "" {
		pad = strings.Repeat(" ", max(0, whatWidth-utf8.RuneCountInString(what))) + "  "
		answer = t.paint.answer(answer, e.Answered(), good)
	}
	if e.Kind == Stopped || e.Kind == Continued || e.Kind == Expired {
		what = t.paint.bold(what)
	}
	t.printf("%9s  %s  %*s  %s%s%s\n", seconds(e.At), t.paint.who(e.Who), t.token, token, what, pad, answer)
}

// End closes an act with what the store has.
func (t *Text) End(a Act) {
	what := fmt.Sprintf("has %s at the end", a.Holds)
	t.printf("%9s  %s  %*s  %s\n", "", t.paint.who(Keeper), t.token, "", t.paint.bold(what))
}

// Conclude writes the last sentence.
func (t *Text) Conclude(s Story) {
	t.printf("\n%s\n", t.paint.bold(wrap(s.Conclusion(), 84)))
}

// Err returns the error of the first write that failed.
func (t *Text) Err() error { return t.err }

func (t *Text) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// wrap breaks a sentence into lines of at most width bytes.
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
