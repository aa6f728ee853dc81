package sqlfence

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// statements are the named parts of a .sql file, without comments.
type statements map[string]string

// parse cuts text at its "-- name:" lines and puts the caller's names in: an even
// number of strings, each placeholder followed by what takes its place.
func parse(text string, names ...string) statements {
	text = strings.NewReplacer(names...).Replace(text)
	parts, name := statements{}, ""
	for line := range strings.Lines(text) {
		if after, ok := strings.CutPrefix(line, "-- name:"); ok {
			name = strings.TrimSpace(after)
		} else if name != "" && !strings.HasPrefix(line, "--") {
			parts[name] += line
		}
	}
	for name := range parts {
		parts[name] = strings.TrimSpace(parts[name])
	}
	return parts
}

// statement is one of them as a driver takes it.
type statement struct {
	text string
	// order says which value goes to which place, counted from 1, in a dialect whose
	// parameters have no numbers. In the others it is nil: the text says so itself.
	order []int
}

func (s statement) args(values ...any) []any {
	if s.order == nil {
		return values
	}
	placed := make([]any, len(s.order))
	for i, n := range s.order {
		placed[i] = values[n-1]
	}
	return placed
}

// statement makes one of its text.
func (d *dialect) statement(text string) statement {
	if !d.positional {
		return statement{text: text}
	}
	s := statement{order: []int{}}
	s.text = parameters(text, func(b []byte, _ byte, n int) []byte {
		s.order = append(s.order, n)
		return append(b, '?')
	})
	return s
}

// statements makes all of the dialect's, with the caller's names in.
func (d *dialect) statements(names ...string) map[string]statement {
	all := map[string]statement{}
	for name, text := range parse(d.text, names...) {
		all[name] = d.statement(text)
	}
	return all
}

// renumber lets the parameters of a statement begin with n.
func renumber(n int, text string) string {
	return parameters(text, func(b []byte, sign byte, i int) []byte {
		return strconv.AppendInt(append(b, sign), int64(i+n-1), 10)
	})
}

// parameters replaces $1 and ?1. By hand, because the in-row form does it for each write.
func parameters(text string, replace func(b []byte, sign byte, n int) []byte) string {
	b := make([]byte, 0, len(text)+16)
	for i := 0; i < len(text); i++ {
		end := i + 1
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		if sign := text[i]; end == i+1 || sign != '$' && sign != '?' {
			b = append(b, sign)
			continue
		}
		n, _ := strconv.Atoi(text[i+1 : end])
		b = replace(b, text[i], n)
		i = end - 1
	}
	return string(b)
}

// maxIdentifier is what PostgreSQL keeps of a name; it silently cuts off the rest.
const maxIdentifier = 63

// checkIdentifier accepts what needs no quotes in any dialect. The name goes into the
// text of statements, so nothing else may pass.
func checkIdentifier(what, name string, parts, limit int) error {
	split := strings.Split(name, ".")
	if len(split) > parts {
		return fmt.Errorf("sqlfence: %s %q has too many dots", what, name)
	}
	for _, part := range split {
		if !identifier.MatchString(part) {
			return fmt.Errorf("sqlfence: %s %q is not a plain identifier (letters, digits and _, not starting with a digit)", what, name)
		}
		if len(part) > limit {
			return fmt.Errorf("sqlfence: %s %q is longer than %d bytes", what, name, limit)
		}
	}
	return nil
}

var identifier = regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]*\z`)
