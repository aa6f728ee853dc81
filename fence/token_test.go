package fence_test

import (
	"math"
	"strings"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

func TestNewToken(t *testing.T) {
	long := strings.Repeat
	for _, c := range []struct {
		name            string
		lock            string
		epoch, revision int64
		owner           string
		want            error
	}{
		{"smallest", "l", 0, 1, "o", nil},
		{"largest numbers", "l", math.MaxInt64, math.MaxInt64, "o", nil},
		{"longest names", long("l", fence.MaxLock), 0, 1, long("o", fence.MaxOwner), nil},
		{"any script, spaces and separators", "Größe/日本; = %2F", 0, 1, "web-7:4711 (a;b)", nil},
		{"no lock", "", 0, 1, "o", fence.ErrBadToken},
		{"no owner", "l", 0, 1, "", fence.ErrBadToken},
		{"lock too long", long("l", fence.MaxLock+1), 0, 1, "o", fence.ErrBadToken},
		{"owner too long", "l", 0, 1, long("o", fence.MaxOwner+1), fence.ErrBadToken},
		{"lock too long in bytes", long("ö", fence.MaxLock/2) + "l", 0, 1, "o", fence.ErrBadToken},
		{"negative epoch", "l", -1, 1, "o", fence.ErrBadToken},
		{"smallest epoch", "l", math.MinInt64, 1, "o", fence.ErrBadToken},
		{"no revision", "l", 0, 0, "o", fence.ErrBadToken},
		{"negative revision", "l", 0, -1, "o", fence.ErrBadToken},
		{"line feed in the lock", "a\nb", 0, 1, "o", fence.ErrBadToken},
		{"NUL in the owner", "l", 0, 1, "a\x00", fence.ErrBadToken},
		{"DEL in the owner", "l", 0, 1, "a\x7f", fence.ErrBadToken},
		{"a C1 control in the lock", "a\u0085", 0, 1, "o", fence.ErrBadToken},
		{"lock is not UTF-8", "a\xff", 0, 1, "o", fence.ErrBadToken},
		{"owner is not UTF-8", "l", 0, 1, "a\xc3", fence.ErrBadToken},
		{"replacement character", "a\ufffd", 0, 1, "o", fence.ErrBadToken},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok, err := fence.NewToken(c.lock, c.epoch, c.revision, c.owner)
			mustBe(t, "NewToken", err, c.want)
			if err != nil {
				if tok != (fence.Token{}) {
					t.Errorf("a token %v beside the error", tok)
				}
				return
			}
			if tok.Lock() != c.lock || tok.Epoch() != c.epoch || tok.Revision() != c.revision || tok.Owner() != c.owner {
				t.Errorf("got %q %d %d %q", tok.Lock(), tok.Epoch(), tok.Revision(), tok.Owner())
			}
			mustBe(t, "CheckLock", fence.CheckLock(c.lock), nil)
		})
	}
}

// An error that does not say which of the parts is wrong sends people searching.
func TestNewTokenSaysWhatIsWrong(t *testing.T) {
	for want, make := range map[string]func() (fence.Token, error){
		"the lock name is empty":          func() (fence.Token, error) { return fence.NewToken("", 0, 1, "o") },
		"the owner is empty":              func() (fence.Token, error) { return fence.NewToken("l", 0, 1, "") },
		"the owner has 257 bytes":         func() (fence.Token, error) { return fence.NewToken("l", 0, 1, strings.Repeat("o", 257)) },
		"the control character U+000A":    func() (fence.Token, error) { return fence.NewToken("l\n", 0, 1, "o") },
		"the lock name is not valid UTF-": func() (fence.Token, error) { return fence.NewToken("\xff", 0, 1, "o") },
		"epoch -1 is negative":            func() (fence.Token, error) { return fence.NewToken("l", -1, 1, "o") },
		"revision 0 is not positive":      func() (fence.Token, error) { return fence.NewToken("l", 0, 0, "o") },
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}

func TestZeroValues(t *testing.T) {
	var tok fence.Token
	var s fence.Stamp
	if !tok.IsZero() || !s.IsZero() || !s.Token().IsZero() {
		t.Error("a zero value does not say so")
	}
	if tok.String() != "no token" || s.String() != "no stamp" {
		t.Errorf("got %q and %q", tok, s)
	}
	if !tok.At(0).IsZero() || !tok.At(7).IsZero() {
		t.Error("the zero token made a stamp")
	}
	if got := token(t, 1).At(-1); !got.IsZero() {
		t.Errorf("sequence -1 made the stamp %v", got)
	}
	if token(t, 1).IsZero() || token(t, 1).At(0).IsZero() {
		t.Error("a claim is taken for no stamp")
	}
	_, err := tok.WithEpoch(1)
	mustBe(t, "epoch of no token", err, fence.ErrBadToken)
}

func TestWithEpoch(t *testing.T) {
	tok := token(t, 53)
	raised, err := tok.WithEpoch(2)
	mustBe(t, "WithEpoch", err, nil)
	if raised != mint(t, "orders", 2, 53, "worker") || tok.Epoch() != 0 {
		t.Errorf("got %v from %v", raised, tok)
	}
	if raised.Compare(token(t, 99)) != 1 || token(t, 99).Compare(raised) != -1 {
		t.Error("a raised epoch must be newer than any revision of the epoch before")
	}
	_, err = tok.WithEpoch(-1)
	mustBe(t, "negative epoch", err, fence.ErrBadToken)
}

// The owner identifies and never decides which of two is newer.
func TestCompareIgnoresTheOwner(t *testing.T) {
	a, b := mint(t, "orders", 0, 5, "a"), mint(t, "orders", 0, 5, "b")
	if a.Compare(b) != 0 || a.At(1).Compare(b.At(1)) != 0 || a == b {
		t.Error("want the same generation, and two different tokens")
	}
}

func TestString(t *testing.T) {
	tok := mint(t, "orders/42", 0, 53, "worker")
	raised := mint(t, "orders/42", 1, 53, "worker")
	for got, want := range map[string]string{
		tok.String():          "orders/42@53",
		raised.String():       "orders/42@1.53",
		tok.At(7).String():    "orders/42@53#7",
		raised.At(0).String(): "orders/42@1.53#0",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
