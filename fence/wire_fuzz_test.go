package fence_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

// Whatever a decoder accepts is well-formed and comes back from the encoder, in a
// canonical form as the same bytes; whatever it refuses, it refuses with one of two
// errors and without touching the receiver.

func FuzzTokenText(f *testing.F) {
	for _, tok := range travellers(f) {
		b, _ := tok.MarshalText()
		f.Add(b)
	}
	f.Add([]byte("v1;e=0;r=01;o=o;l=%6c"))
	f.Fuzz(func(t *testing.T, b []byte) {
		tok := token(t, 7)
		err := tok.UnmarshalText(b)
		if refused(t, err, tok != token(t, 7)) {
			return
		}
		mint(t, tok.Lock(), tok.Epoch(), tok.Revision(), tok.Owner())
		canonical(t, text, tok, b)
	})
}

func FuzzStampText(f *testing.F) { fuzzStamp(f, text, true) }

func FuzzStampBinary(f *testing.F) { fuzzStamp(f, binary, true) }

// JSON is not canonical, but what was read must read the same again.
func FuzzStampJSON(f *testing.F) {
	f.Add([]byte(`{"epoch":"0","lock":"\u00e9","owner":"o","sequence":"0","revision":"1"}`))
	fuzzStamp(f, jsonDirect, false)
}

func fuzzStamp(f *testing.F, c codec, isCanonical bool) {
	for i, tok := range travellers(f) {
		b, _ := c.encode(tok.At(int64(i)))
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := token(t, 7).At(7)
		if refused(t, c.decode(&s, b), s != token(t, 7).At(7)) {
			return
		}
		if s.IsZero() { // null in JSON; nothing else may mean nothing
			if isCanonical || string(bytes.TrimSpace(b)) != "null" {
				t.Fatalf("%q was read as no stamp", b)
			}
			return
		}
		tok := s.Token()
		if mint(t, tok.Lock(), tok.Epoch(), tok.Revision(), tok.Owner()).At(s.Sequence()) != s {
			t.Fatalf("%q made a stamp that cannot be made", b)
		}
		if isCanonical {
			canonical(t, c, s, b)
			return
		}
		again, err := c.encode(s)
		mustBe(t, "encode", err, nil)
		var got fence.Stamp
		mustBe(t, "decode again", c.decode(&got, again), nil)
		if got != s {
			t.Fatalf("%q was read as %v, then as %v", b, s, got)
		}
	})
}

func refused(t *testing.T, err error, touched bool) bool {
	t.Helper()
	switch {
	case err == nil:
		return false
	case !errors.Is(err, fence.ErrBadToken) && !errors.Is(err, fence.ErrNoToken):
		t.Fatalf("an error of no kind: %v", err)
	case touched:
		t.Fatalf("%v, and the receiver was changed", err)
	}
	return true
}

func canonical(t *testing.T, c codec, v any, accepted []byte) {
	t.Helper()
	b, err := c.encode(v)
	mustBe(t, "encode", err, nil)
	if !bytes.Equal(b, accepted) {
		t.Fatalf("accepted %q, wrote %q", accepted, b)
	}
}
