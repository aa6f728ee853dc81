package fence_test

import (
	"bytes"
	"encoding/gob"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

func TestBinaryRoundTrip(t *testing.T) { binary.roundTrip(t) }

func TestBinarySpelling(t *testing.T) {
	s := mint(t, "lock", 1, 53, "me").At(7)
	const numbers = "0000000000000001" + "0000000000000035"
	for _, c := range []struct {
		v    any
		want string
	}{
		{s, "02" + numbers + "0000000000000007" + "0002" + "6d65" + "6c6f636b"},
		{s.Token(), "01" + numbers + "0000000000000000" + "0002" + "6d65" + "6c6f636b"},
	} {
		if got, err := binary.encode(c.v); err != nil || hex.EncodeToString(got) != c.want {
			t.Errorf("got  %x, %v\nwant %s", got, err, c.want)
		}
	}
}

// Sorting the bytes sorts the stamps, so a store that knows only bytes can compare.
func TestBinarySortsLikeStamps(t *testing.T) {
	numbers := []int64{0, 1, 2, 127, 128, 255, 256, 1<<31 - 1, 1 << 31, 1<<53 - 1, 1 << 53, 1<<53 + 1, math.MaxInt64}
	var want []fence.Stamp
	for _, epoch := range numbers {
		for _, revision := range numbers[1:] {
			// The owner must not matter: the longer and larger one comes on odd lines.
			owner := strings.Repeat("z", 1+len(want)%2*9)
			for _, sequence := range numbers {
				want = append(want, mint(t, "orders", epoch, revision, owner).At(sequence))
			}
		}
	}
	forms := make([][]byte, len(want))
	for i, s := range want {
		forms[i], _ = s.MarshalBinary()
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(forms), func(i, j int) { forms[i], forms[j] = forms[j], forms[i] })
	slices.SortFunc(forms, bytes.Compare)
	for i, b := range forms {
		var got fence.Stamp
		mustBe(t, "decode", got.UnmarshalBinary(b), nil)
		if got != want[i] {
			t.Fatalf("at %d: got %v, want %v", i, got, want[i])
		}
	}
}

func TestBinaryMalformed(t *testing.T) {
	tok, s := mint(t, "lock", 1, 53, "me"), mint(t, "lock", 1, 53, "me").At(7)
	for into, v := range map[string]any{"token": tok, "stamp": s} {
		good, _ := binary.encode(v)
		with := func(at int, b ...byte) []byte {
			out := bytes.Clone(good)
			copy(out[at:], b)
			return out
		}
		for name, in := range map[string][]byte{
			"kind 0":                  with(0, 0),
			"kind 3":                  with(0, 3),
			"the other kind":          with(0, 3-good[0]),
			"text":                    []byte("v1;e=0;r=53;s=7;o=me;l=lock"),
			"negative epoch":          with(1, 0x80),
			"negative revision":       with(9, 0x80),
			"revision 0":              with(16, 0),
			"negative sequence":       with(17, 0x80),
			"owner past the end":      with(25, 0xff, 0xff),
			"owner takes it all":      with(25, 0, 6),
			"no owner":                with(25, 0, 0),
			"owner is not UTF-8":      with(27, 0xff),
			"lock has a control byte": with(29, 0),
			"lock too long":           append(bytes.Clone(good), strings.Repeat("k", fence.MaxLock)...),
		} {
			t.Run(into+"/"+name, func(t *testing.T) { binary.refuses(t, into, in, fence.ErrBadToken) })
		}
		for n := 1; n <= len(good)-len("lock"); n++ {
			binary.refuses(t, into, good[:n], fence.ErrBadToken)
		}
		binary.refuses(t, into, nil, fence.ErrNoToken)
		binary.refuses(t, into, []byte{}, fence.ErrNoToken)
	}
	t.Run("a token with a sequence", func(t *testing.T) {
		b, _ := tok.MarshalBinary()
		b[24] = 1
		binary.refuses(t, "token", b, fence.ErrBadToken)
	})
}

func TestBinaryOfNothing(t *testing.T) {
	for _, v := range []any{fence.Token{}, fence.Stamp{}} {
		_, err := binary.encode(v)
		mustBe(t, "encode nothing", err, fence.ErrNoToken)
	}
}

// gob leaves zero fields out, so a struct with no token in it travels too.
func TestBinaryInGob(t *testing.T) {
	type request struct {
		Token fence.Token
		Stamp fence.Stamp
		Body  string
	}
	for _, in := range []request{{token(t, 1), token(t, 2).At(3), "x"}, {Body: "y"}} {
		var wire bytes.Buffer
		mustBe(t, "gob", gob.NewEncoder(&wire).Encode(in), nil)
		var out request
		mustBe(t, "gob", gob.NewDecoder(&wire).Decode(&out), nil)
		if out != in {
			t.Errorf("sent %v, got %v", in, out)
		}
	}
}
