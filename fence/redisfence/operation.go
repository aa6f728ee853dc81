package redisfence

import (
	"fmt"
	"strings"

	"github.com/etcdfence/etcdfence/fence"
)

// An operation is kept in a hash beside the mark, under its id, and as text of three lines:
// the word of the call that did it, the stamp, and the result behind a sign, "=" or, if
// there is none, "-". A list has the ids in their order, so that the oldest are dropped.

func encodeOperation(c *call, s fence.Stamp, result []byte) (string, error) {
	stamp, err := s.MarshalText()
	if err != nil {
		return "", err
	}
	sign := "="
	if result == nil {
		sign = "-"
	}
	return c.word + "\n" + string(stamp) + "\n" + sign + string(result), nil
}

// duplicate is the answer of an operation that was done before: nil if this call did it.
func duplicate(c *call, id, text string) error {
	parts := strings.SplitN(text, "\n", 3)
	if len(parts) != 3 || parts[2] == "" {
		return fmt.Errorf("%w: the operation %q is %.80q", ErrForeign, id, text)
	}
	if parts[0] == c.word {
		return nil
	}
	d := &fence.DuplicateError{Operation: id}
	if err := d.Stamp.UnmarshalText([]byte(parts[1])); err != nil {
		return fmt.Errorf("%w: the operation %q: %w", ErrForeign, id, err)
	}
	if result, ok := strings.CutPrefix(parts[2], "="); ok {
		d.Result = []byte(result)
	}
	return d
}
