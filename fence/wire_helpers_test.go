package fence_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

// travellers are tokens that have broken some encoding somewhere.
func travellers(tb testing.TB) []fence.Token {
	return []fence.Token{
		mint(tb, "l", 0, 1, "o"),
		mint(tb, "orders/42", 0, 53, "694d81/web-7:4711"),
		mint(tb, "orders/42", 1, 3, "694d81/web-7:4711"),
		mint(tb, "l", math.MaxInt64, math.MaxInt64, "o"),
		mint(tb, "l", 0, 1<<53+1, "o"), // not a double
		mint(tb, "a;l=b;o=c", 0, 1, "s=9;v1;e=0"),
		mint(tb, "100%2F", 0, 1, "%"),
		mint(tb, ` "quoted" \ `, 0, 1, "<a>&'b'"),
		mint(tb, "Größe/日本/👷", 0, 1, "\u2028\u202e"),
		mint(tb, "null", 0, 1, "no token"),
		mint(tb, strings.Repeat("/", fence.MaxLock), math.MaxInt64, math.MaxInt64, strings.Repeat("é", fence.MaxOwner/2)),
	}
}

// codec is one encoding of tokens and stamps, both ways.
type codec struct {
	encode func(v any) ([]byte, error)
	decode func(v any, b []byte) error
}

var (
	text = codec{
		func(v any) ([]byte, error) { return v.(encoding.TextMarshaler).MarshalText() },
		func(v any, b []byte) error { return v.(encoding.TextUnmarshaler).UnmarshalText(b) },
	}
	binary = codec{
		func(v any) ([]byte, error) { return v.(encoding.BinaryMarshaler).MarshalBinary() },
		func(v any, b []byte) error { return v.(encoding.BinaryUnmarshaler).UnmarshalBinary(b) },
	}
	// jsonDirect calls the methods themselves: json.Unmarshal would refuse half of
	// the malformed inputs before we see them.
	jsonDirect = codec{
		func(v any) ([]byte, error) { return v.(json.Marshaler).MarshalJSON() },
		func(v any, b []byte) error { return v.(json.Unmarshaler).UnmarshalJSON(b) },
	}
)

// roundTrip sends every traveller there and back, as a token and as stamps.
func (c codec) roundTrip(t *testing.T) {
	t.Helper()
	for _, tok := range travellers(t) {
		b, err := c.encode(tok)
		mustBe(t, "encode "+tok.String(), err, nil)
		var got fence.Token
		mustBe(t, "decode "+string(b), c.decode(&got, b), nil)
		if got != tok {
			t.Errorf("sent %v, got %v", tok, got)
		}
		for _, sequence := range []int64{0, 1, 1<<53 + 1, math.MaxInt64} {
			b, err := c.encode(tok.At(sequence))
			mustBe(t, "encode "+tok.At(sequence).String(), err, nil)
			var got fence.Stamp
			mustBe(t, "decode "+string(b), c.decode(&got, b), nil)
			if got != tok.At(sequence) {
				t.Errorf("sent %v, got %v", tok.At(sequence), got)
			}
			// A token is no stamp and a stamp no token: neither passes for the other.
			mustBe(t, "a stamp read as a token", c.decode(new(fence.Token), b), fence.ErrBadToken)
		}
		mustBe(t, "a token read as a stamp", c.decode(new(fence.Stamp), b), fence.ErrBadToken)
	}
}

// refuses checks that decoding gives want and leaves the receiver and the input as
// they were.
func (c codec) refuses(t *testing.T, into string, in []byte, want error) {
	t.Helper()
	input := bytes.Clone(in)
	tok, s := token(t, 7), token(t, 7).At(7)
	switch into {
	case "token":
		mustBe(t, string(in), c.decode(&tok, in), want)
	case "stamp":
		mustBe(t, string(in), c.decode(&s, in), want)
	}
	if tok != token(t, 7) || s != token(t, 7).At(7) {
		t.Errorf("%s: a failed decode left %v and %v", in, tok, s)
	}
	if !bytes.Equal(in, input) {
		t.Errorf("decoding %q changed the input to %q", input, in)
	}
}
