package fence

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// A token TRAVELS in one of the forms below; it was born in etcdfence/revision.go
// and is enforced by what resource.go describes. Each form is canonical: one
// token has one spelling, and a decoder refuses every other with ErrBadToken.
//
//	text    v1;e=0;r=53;o=694d81%2Fweb-7:4711;l=orders%2F42          a token
//	        v1;e=0;r=53;s=7;o=694d81%2Fweb-7:4711;l=orders%2F42      a stamp
//	binary  kind, three big-endian 64-bit integers, owner, lock: sorts by age
//	JSON    an object; the numbers are strings, since a double ends at 2^53
//
// Nothing is encoded as "no token": a zero value is an error in text and binary
// and null in JSON and SQL.

const wireVersion = "v1"

// MarshalText implements [encoding.TextMarshaler]. It returns [ErrNoToken] for the
// zero Token.
func (t Token) MarshalText() ([]byte, error) { return t.appendText(nil, "") }

// MarshalText implements [encoding.TextMarshaler]. It returns [ErrNoToken] for the
// zero Stamp.
func (s Stamp) MarshalText() ([]byte, error) {
	return s.token.appendText(nil, ";s="+strconv.FormatInt(s.sequence, 10))
}

func (t Token) appendText(b []byte, sequence string) ([]byte, error) {
	if t.IsZero() {
		return nil, ErrNoToken
	}
	return fmt.Appendf(b, "%s;e=%d;r=%d%s;o=%s;l=%s", wireVersion, t.epoch, t.revision, sequence,
		url.PathEscape(t.owner), url.PathEscape(t.lock)), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It returns [ErrNoToken] for
// an empty text and [ErrBadToken] for one that is not a canonical token; t is then
// unchanged.
func (t *Token) UnmarshalText(text []byte) error {
	s, err := parseText(text, []string{"e", "r", "o", "l"})
	if err == nil {
		*t = s.token
	}
	return err
}

// UnmarshalText implements [encoding.TextUnmarshaler], as [Token.UnmarshalText].
func (s *Stamp) UnmarshalText(text []byte) error {
	p, err := parseText(text, []string{"e", "r", "s", "o", "l"})
	if err == nil {
		*s = p
	}
	return err
}

func parseText(text []byte, names []string) (Stamp, error) {
	if len(text) == 0 {
		return Stamp{}, ErrNoToken
	}
	bad := func(why string) (Stamp, error) {
		if len(text) > 80 {
			text = append(text[:80:80], "..."...)
		}
		return Stamp{}, fmt.Errorf("%w: %q: %s", ErrBadToken, text, why)
	}
	fields := strings.Split(string(text), ";")
	if fields[0] != wireVersion {
		return bad("it does not start with " + wireVersion + ";")
	}
	if len(fields) != len(names)+1 {
		return bad("it must have the fields " + strings.Join(names, ", "))
	}
	value := map[string]string{"s": "0"}
	for i, name := range names {
		v, ok := strings.CutPrefix(fields[i+1], name+"=")
		if !ok {
			return bad("field " + strconv.Itoa(i+1) + " must be " + name)
		}
		v, err := url.PathUnescape(v)
		if err != nil {
			return bad(err.Error())
		}
		value[name] = v
	}
	s, err := build(value["l"], value["e"], value["r"], value["s"], value["o"])
	if err != nil {
		return Stamp{}, err
	}
	canonical, _ := s.MarshalText()
	if len(names) == 4 {
		canonical, _ = s.token.MarshalText()
	}
	if string(canonical) != string(text) {
		return bad("it is not in canonical form")
	}
	return s, nil
}

// build makes a stamp from decimal numbers and checks every part.
func build(lock, epoch, revision, sequence, owner string) (Stamp, error) {
	var n [3]int64
	for i, text := range []string{epoch, revision, sequence} {
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || strconv.FormatInt(v, 10) != text {
			return Stamp{}, fmt.Errorf("%w: %.40q is not a decimal 64-bit integer", ErrBadToken, text)
		}
		n[i] = v
	}
	t, err := NewToken(lock, n[0], n[1], owner)
	if err == nil && n[2] < 0 {
		err = fmt.Errorf("%w: sequence %d is negative", ErrBadToken, n[2])
	}
	if err != nil {
		return Stamp{}, err
	}
	return t.At(n[2]), nil
}

const (
	kindToken byte = 1
	kindStamp byte = 2
)

// MarshalBinary implements [encoding.BinaryMarshaler]. The forms of one lock's
// tokens compare as bytes the way the tokens compare. It returns [ErrNoToken] for
// the zero Token.
func (t Token) MarshalBinary() ([]byte, error) { return t.At(0).appendBinary(kindToken) }

// MarshalBinary implements [encoding.BinaryMarshaler], as [Token.MarshalBinary].
func (s Stamp) MarshalBinary() ([]byte, error) { return s.appendBinary(kindStamp) }

func (s Stamp) appendBinary(kind byte) ([]byte, error) {
	if s.IsZero() {
		return nil, ErrNoToken
	}
	b := []byte{kind}
	for _, n := range []int64{s.token.epoch, s.token.revision, s.sequence} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(s.token.owner)))
	return append(append(b, s.token.owner...), s.token.lock...), nil
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]. It returns [ErrNoToken]
// for no bytes and [ErrBadToken] for others than a token's; t is then unchanged.
func (t *Token) UnmarshalBinary(b []byte) error {
	s, err := parseBinary(b, kindToken)
	if err == nil {
		*t = s.token
	}
	return err
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler], as
// [Token.UnmarshalBinary].
func (s *Stamp) UnmarshalBinary(b []byte) error {
	p, err := parseBinary(b, kindStamp)
	if err == nil {
		*s = p
	}
	return err
}

func parseBinary(b []byte, kind byte) (Stamp, error) {
	const head = 1 + 3*8 + 2
	switch {
	case len(b) == 0:
		return Stamp{}, ErrNoToken
	case len(b) < head || b[0] != kind:
		return Stamp{}, fmt.Errorf("%w: %d bytes of another kind", ErrBadToken, len(b))
	}
	n := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[1+8*i:])) }
	ownerEnd := head + int(binary.BigEndian.Uint16(b[head-2:]))
	if ownerEnd > len(b) {
		return Stamp{}, fmt.Errorf("%w: cut off inside the owner", ErrBadToken)
	}
	t, err := NewToken(string(b[ownerEnd:]), n(0), n(1), string(b[head:ownerEnd]))
	if err != nil {
		return Stamp{}, err
	}
	if seq := n(2); seq < 0 || kind == kindToken && seq != 0 {
		return Stamp{}, fmt.Errorf("%w: sequence %d", ErrBadToken, seq)
	}
	return t.At(n(2)), nil
}

type jsonForm struct {
	Lock     string  `json:"lock"`
	Epoch    string  `json:"epoch"`
	Revision string  `json:"revision"`
	Sequence *string `json:"sequence,omitempty"`
	Owner    string  `json:"owner"`
}

func (t Token) form() jsonForm {
	return jsonForm{Lock: t.lock, Owner: t.owner,
		Epoch: strconv.FormatInt(t.epoch, 10), Revision: strconv.FormatInt(t.revision, 10)}
}

// MarshalJSON implements [json.Marshaler]; the zero Token is null.
func (t Token) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(t.form())
}

// MarshalJSON implements [json.Marshaler]; the zero Stamp is null.
func (s Stamp) MarshalJSON() ([]byte, error) {
	if s.IsZero() {
		return []byte("null"), nil
	}
	f, seq := s.token.form(), strconv.FormatInt(s.sequence, 10)
	f.Sequence = &seq
	return json.Marshal(f)
}

// UnmarshalJSON implements [json.Unmarshaler]; null is the zero Token. It returns
// [ErrBadToken] for anything that is not a token, a number outside a string
// included; t is then unchanged.
func (t *Token) UnmarshalJSON(b []byte) error {
	s, err := parseJSON(b, false)
	if err == nil {
		*t = s.token
	}
	return err
}

// UnmarshalJSON implements [json.Unmarshaler], as [Token.UnmarshalJSON].
func (s *Stamp) UnmarshalJSON(b []byte) error {
	p, err := parseJSON(b, true)
	if err == nil {
		*s = p
	}
	return err
}

func parseJSON(b []byte, stamp bool) (Stamp, error) {
	if string(b) == "null" {
		return Stamp{}, nil
	}
	var f jsonForm
	if err := json.Unmarshal(b, &f); err != nil {
		return Stamp{}, fmt.Errorf("%w: %w (numbers must be strings)", ErrBadToken, err)
	}
	if stamp != (f.Sequence != nil) {
		return Stamp{}, fmt.Errorf("%w: a stamp has a sequence and a token has none", ErrBadToken)
	}
	seq := "0"
	if stamp {
		seq = *f.Sequence
	}
	return build(f.Lock, f.Epoch, f.Revision, seq, f.Owner)
}
