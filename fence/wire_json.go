package fence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

type jsonForm struct {
	Lock     string `json:"lock"`
	Epoch    string `json:"epoch"`
	Revision string `json:"revision"`
	Sequence string `json:"sequence,omitempty"` // a stamp has one, "0" included; a token has none
	Owner    string `json:"owner"`
}

// MarshalJSON implements [json.Marshaler]; the zero Token is null.
func (t Token) MarshalJSON() ([]byte, error) { return t.marshalJSON("") }

// MarshalJSON implements [json.Marshaler]; the zero Stamp is null.
func (s Stamp) MarshalJSON() ([]byte, error) {
	return s.token.marshalJSON(strconv.FormatInt(s.sequence, 10))
}

func (t Token) marshalJSON(sequence string) ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(jsonForm{Lock: t.lock, Owner: t.owner, Sequence: sequence,
		Epoch: strconv.FormatInt(t.epoch, 10), Revision: strconv.FormatInt(t.revision, 10)})
}

// UnmarshalJSON implements [json.Unmarshaler]. Unlike most, it makes the zero Token
// of null: a token left over in a reused struct must not pass for the one that was
// not sent. It returns [ErrBadToken] for anything that is not a token, a number
// outside a string included; t is then unchanged.
func (t *Token) UnmarshalJSON(b []byte) error {
	s, err := parseJSON(b, []string{"lock", "epoch", "revision", "owner"})
	if err == nil {
		*t = s.token
	}
	return err
}

// UnmarshalJSON implements [json.Unmarshaler], as [Token.UnmarshalJSON].
func (s *Stamp) UnmarshalJSON(b []byte) error {
	p, err := parseJSON(b, []string{"lock", "epoch", "revision", "sequence", "owner"})
	if err == nil {
		*s = p
	}
	return err
}

// parseJSON reads the fields one by one, because json.Unmarshal into a struct takes
// "Revision" for "revision" and the last of two: readers in other languages take
// the first, and the same bytes must not be two generations.
func parseJSON(b []byte, names []string) (Stamp, error) {
	bad := func(format string, args ...any) (Stamp, error) {
		return Stamp{}, fmt.Errorf("%w: JSON: "+format, append([]any{ErrBadToken}, args...)...)
	}
	if !json.Valid(b) {
		return bad("not well-formed")
	}
	d := json.NewDecoder(bytes.NewReader(b)) // cannot fail from here on: b is one whole value
	switch start, _ := d.Token(); start {
	case nil:
		return Stamp{}, nil // null
	case json.Delim('{'):
	default:
		return bad("not an object")
	}
	value := map[string]string{}
	for d.More() {
		key, _ := d.Token()
		name := key.(string)
		if _, twice := value[name]; twice || !slices.Contains(names, name) {
			return bad("field %.40q is unknown or comes twice", name)
		}
		v, _ := d.Token()
		text, ok := v.(string)
		if !ok {
			return bad("%s must be a string, numbers too", name)
		}
		value[name] = text
	}
	if len(value) != len(names) {
		return bad("the fields must be %q", names)
	}
	if len(names) == 4 {
		value["sequence"] = "0" // a token has none
	}
	return build(value["lock"], value["epoch"], value["revision"], value["sequence"], value["owner"])
}
