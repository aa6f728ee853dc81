// TRAVELS: a token was born in etcdfence/revision.go and goes to the resource in
// one of the forms below. Next: resource.go, where it is enforced.
//
//	text    v1;e=0;r=53;o=694d81%2Fweb-7:4711;l=orders%2F42          a token
//	        v1;e=0;r=53;s=7;o=694d81%2Fweb-7:4711;l=orders%2F42      a stamp
//	binary  kind, three big-endian 64-bit integers, owner, lock: sorts by age
//	JSON    an object; the numbers are strings, since a double ends at 2^53
//	SQL     the text form in a text column
//
// Every decoder refuses what it does not know with ErrBadToken and leaves its
// receiver as it was. Text and binary are canonical: one token has one spelling,
// so they may be compared and used as keys. In JSON the order of the fields is
// free, because stores and proxies reorder them.
//
// Nothing is encoded as "no token": a zero value is an error in text and binary,
// and null in JSON and NULL in SQL.
//
// In text, a byte of owner or lock stands for itself if it is a letter, a digit or
// one of - _ . ~ $ & + : = @, and is %XX in capital hexadecimal otherwise: the form
// is printable ASCII and fits into a header or a log line as it is.

package fence

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// wire.go holds the text form; the others are wire_binary.go, wire_json.go and
// wire_sql.go.

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
	fields := strings.SplitN(string(text), ";", len(names)+2) // no more, however long the text is
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
