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

var parameter = regexp.MustCompile(`([$?])(\d+)`)

// from renumbers the parameters of a statement so that its first one is n.
func from(n int, statement string) string {
	return parameter.ReplaceAllStringFunc(statement, func(p string) string {
		i, _ := strconv.Atoi(p[1:])
		return p[:1] + strconv.Itoa(i+n-1)
	})
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
