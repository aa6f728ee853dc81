package httpfence

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/etcdfence/etcdfence/fence"
)

// The headers.
const (
	StampHeader     = "Fence-Stamp"
	OperationHeader = "Idempotency-Key"
)

// Value returns the stamp as the header's value, or [fence.ErrNoToken] for the zero Stamp.
func Value(s fence.Stamp) (string, error) {
	text, err := s.MarshalText()
	if err != nil {
		return "", err
	}
	return encode(string(text)), nil
}

// Parse reads the header's value. It returns [fence.ErrBadToken] for everything that [Value]
// does not make, parameters included.
func Parse(value string) (s fence.Stamp, err error) {
	text, ok := decode(value)
	if !ok {
		return s, fmt.Errorf("%w: %s is no structured string: %.80q", fence.ErrBadToken, StampHeader, value)
	}
	return s, s.UnmarshalText([]byte(text))
}

// stamp returns what the headers carry: exactly one stamp.
func stamp(h http.Header) (s fence.Stamp, err error) {
	switch values := h.Values(StampHeader); len(values) {
	case 0:
		return s, fence.ErrNoToken
	case 1:
		return Parse(values[0])
	default:
		return s, fmt.Errorf("%w: %d headers", fence.ErrBadToken, len(values))
	}
}

// operation returns the operation id that the headers carry, if they do.
func operation(h http.Header) (id string, there bool, err error) {
	switch values := h.Values(OperationHeader); len(values) {
	case 0:
		return "", false, nil
	case 1:
		id, ok := decode(values[0])
		if !ok {
			return "", false, fmt.Errorf("%w: %s is no structured string: %.80q", fence.ErrBadOperation, OperationHeader, values[0])
		}
		return id, true, nil
	default:
		return "", false, fmt.Errorf("%w: %d headers", fence.ErrBadOperation, len(values))
	}
}

// encode makes a String of RFC 9651 (section 3.3.3), or a Display String (3.3.8) of what is
// not printable ASCII.
func encode(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return display(text)
		}
		if text[i] == '"' || text[i] == '\\' {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return `"` + b.String() + `"`
}

func display(text string) string {
	var b strings.Builder
	b.WriteString(`%"`)
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '%' || c == '"' {
			fmt.Fprintf(&b, "%%%02x", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// decode reads a String or a Display String that is all of the value but for blanks around.
func decode(value string) (text string, ok bool) {
	value = strings.Trim(value, " ")
	rest, isDisplay := strings.CutPrefix(value, "%")
	rest, quoted := strings.CutPrefix(rest, `"`)
	rest, closed := strings.CutSuffix(rest, `"`)
	if !quoted || !closed {
		return "", false
	}
	var b []byte
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		switch {
		case c < ' ' || c > '~', c == '"':
			return "", false
		case isDisplay && c == '%':
			if i+2 >= len(rest) {
				return "", false
			}
			n, err := strconv.ParseUint(rest[i+1:i+3], 16, 8)
			if err != nil || strings.ToLower(rest[i+1:i+3]) != rest[i+1:i+3] {
				return "", false
			}
			c, i = byte(n), i+2
		case !isDisplay && c == '\\':
			if i++; i == len(rest) || rest[i] != '"' && rest[i] != '\\' {
				return "", false
			}
			c = rest[i]
		}
		b = append(b, c)
	}
	return string(b), !isDisplay || utf8.Valid(b)
}
