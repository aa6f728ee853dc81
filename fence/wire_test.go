package fence_test

import (
	"strings"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

func TestTextRoundTrip(t *testing.T) { text.roundTrip(t) }

// The spelling is a contract with other languages and with stored rows: it must not
// move when a library that we use to write it does.
func TestTextSpelling(t *testing.T) {
	tok := mint(t, "orders/42", 0, 53, "694d81/web-7:4711")
	every := mint(t, " !\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~é", 1, 2, "o")
	for _, c := range []struct {
		v    any
		want string
	}{
		{tok, "v1;e=0;r=53;o=694d81%2Fweb-7:4711;l=orders%2F42"},
		{tok.At(7), "v1;e=0;r=53;s=7;o=694d81%2Fweb-7:4711;l=orders%2F42"},
		{tok.At(0), "v1;e=0;r=53;s=0;o=694d81%2Fweb-7:4711;l=orders%2F42"},
		{every, "v1;e=1;r=2;o=o;l=%20%21%22%23$%25&%27%28%29%2A+%2C-.%2F09:%3B%3C=%3E%3F@AZ%5B%5C%5D%5E_%60az%7B%7C%7D~%C3%A9"},
	} {
		if got, err := text.encode(c.v); err != nil || string(got) != c.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
		}
	}
}

func TestTextIsShortPrintableASCII(t *testing.T) {
	for _, tok := range travellers(t) {
		b, _ := tok.At(1<<63 - 1).MarshalText()
		if len(b) > 2400 {
			t.Errorf("%v has %d bytes, more than the documentation promises", tok, len(b))
		}
		for _, c := range b {
			if c <= ' ' || c > '~' || strings.ContainsRune(`,"\`, rune(c)) {
				t.Errorf("%s has the byte %q, which a header would need to quote", b, c)
			}
		}
	}
}

func TestTextMalformed(t *testing.T) {
	// Each row is wrong in one way as a token; with a sequence put in, as a stamp.
	for name, in := range map[string]string{
		"other version":             "v2;e=0;r=1;o=o;l=l",
		"no version":                "e=0;r=1;o=o;l=l",
		"version alone":             "v1",
		"capital version":           "V1;e=0;r=1;o=o;l=l",
		"fields in another order":   "v1;r=1;e=0;o=o;l=l",
		"field missing":             "v1;e=0;r=1;o=o",
		"field twice":               "v1;e=0;r=1;o=o;l=l;l=l",
		"unknown field":             "v1;e=0;r=1;o=o;l=l;x=1",
		"trailing separator":        "v1;e=0;r=1;o=o;l=l;",
		"leading space":             " v1;e=0;r=1;o=o;l=l",
		"trailing line feed":        "v1;e=0;r=1;o=o;l=l\n",
		"space in a field":          "v1;e=0;r= 1;o=o;l=l",
		"plus sign":                 "v1;e=0;r=+1;o=o;l=l",
		"leading zero":              "v1;e=0;r=01;o=o;l=l",
		"minus zero":                "v1;e=-0;r=1;o=o;l=l",
		"negative epoch":            "v1;e=-1;r=1;o=o;l=l",
		"revision 0":                "v1;e=0;r=0;o=o;l=l",
		"hexadecimal":               "v1;e=0;r=0x1;o=o;l=l",
		"underscore":                "v1;e=0;r=1_0;o=o;l=l",
		"exponent":                  "v1;e=0;r=1e3;o=o;l=l",
		"fraction":                  "v1;e=0;r=1.0;o=o;l=l",
		"one past int64":            "v1;e=0;r=9223372036854775808;o=o;l=l",
		"wraps to 1":                "v1;e=0;r=18446744073709551617;o=o;l=l",
		"escaped digit":             "v1;e=0;r=%31;o=o;l=l",
		"empty number":              "v1;e=;r=1;o=o;l=l",
		"empty owner":               "v1;e=0;r=1;o=;l=l",
		"empty lock":                "v1;e=0;r=1;o=o;l=",
		"escape cut off":            "v1;e=0;r=1;o=o;l=l%2",
		"escape not hexadecimal":    "v1;e=0;r=1;o=o;l=%zz",
		"escape in small letters":   "v1;e=0;r=1;o=o;l=a%2fb",
		"escape that is not due":    "v1;e=0;r=1;o=o;l=%6C",
		"slash not escaped":         "v1;e=0;r=1;o=o;l=a/b",
		"not UTF-8":                 "v1;e=0;r=1;o=o;l=\xff",
		"not UTF-8, escaped":        "v1;e=0;r=1;o=o;l=%FF",
		"letter not escaped":        "v1;e=0;r=1;o=o;l=é",
		"line feed, escaped":        "v1;e=0;r=1;o=o;l=%0A",
		"NUL":                       "v1;e=0;r=1;o=o;l=\x00",
		"lock too long":             "v1;e=0;r=1;o=o;l=" + strings.Repeat("l", fence.MaxLock+1),
		"owner too long":            "v1;e=0;r=1;o=" + strings.Repeat("o", fence.MaxOwner+1) + ";l=l",
		"a million separators":      "v1" + strings.Repeat(";", 1e6),
		"what people see, not ours": "orders/42@53",
	} {
		t.Run(name, func(t *testing.T) {
			text.refuses(t, "token", []byte(in), fence.ErrBadToken)
			text.refuses(t, "stamp", []byte(strings.Replace(in, ";o=", ";s=1;o=", 1)), fence.ErrBadToken)
		})
	}
	for name, in := range map[string]string{
		"negative sequence": "v1;e=0;r=1;s=-1;o=o;l=l",
		"no sequence":       "v1;e=0;r=1;o=o;l=l",
		"empty sequence":    "v1;e=0;r=1;s=;o=o;l=l",
		"sequence 00":       "v1;e=0;r=1;s=00;o=o;l=l",
	} {
		t.Run(name, func(t *testing.T) { text.refuses(t, "stamp", []byte(in), fence.ErrBadToken) })
	}
}

func TestTextOfNothing(t *testing.T) {
	for _, v := range []any{fence.Token{}, fence.Stamp{}} {
		_, err := text.encode(v)
		mustBe(t, "encode nothing", err, fence.ErrNoToken)
	}
	for _, into := range []string{"token", "stamp"} {
		text.refuses(t, into, nil, fence.ErrNoToken)
		text.refuses(t, into, []byte{}, fence.ErrNoToken)
	}
}

// A megabyte of header must not come back as a megabyte of log.
func TestTextErrorIsShort(t *testing.T) {
	for _, in := range []string{strings.Repeat("x", 1<<20), "v1;e=" + strings.Repeat("9", 1<<20) + ";r=1;o=o;l=l"} {
		var tok fence.Token
		if err := tok.UnmarshalText([]byte(in)); err == nil || len(err.Error()) > 300 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	}
}
