package fence_test

import (
	"database/sql"
	"database/sql/driver"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

var (
	_ driver.Valuer = fence.Token{}
	_ driver.Valuer = fence.Stamp{}
	_ sql.Scanner   = (*fence.Token)(nil)
	_ sql.Scanner   = (*fence.Stamp)(nil)
)

// A driver gives a text column back as a string or as bytes.
func TestSQLRoundTrip(t *testing.T) {
	asIs := func(v any) any { return v }
	asBytes := func(v any) any { return []byte(v.(string)) }
	for _, back := range []func(any) any{asIs, asBytes} {
		encode := func(v any) (any, error) {
			value, err := v.(driver.Valuer).Value()
			if !driver.IsValue(value) {
				t.Errorf("%T is no driver value", value)
			}
			return back(value), err
		}
		for _, tok := range travellers(t) {
			var gotToken fence.Token
			column, err := encode(tok)
			mustBe(t, "Value", err, nil)
			mustBe(t, "Scan", gotToken.Scan(column), nil)
			var gotStamp fence.Stamp
			column, err = encode(tok.At(7))
			mustBe(t, "Value", err, nil)
			mustBe(t, "Scan", gotStamp.Scan(column), nil)
			if gotToken != tok || gotStamp != tok.At(7) {
				t.Errorf("stored %v, got %v and %v", tok, gotToken, gotStamp)
			}
		}
	}
}

func TestSQLNull(t *testing.T) {
	for _, v := range []driver.Valuer{fence.Token{}, fence.Stamp{}} {
		if got, err := v.Value(); got != nil || err != nil {
			t.Errorf("the zero %T is %v, %v, want NULL", v, got, err)
		}
	}
	tok, s := token(t, 1), token(t, 1).At(1)
	mustBe(t, "NULL", tok.Scan(nil), nil)
	mustBe(t, "NULL", s.Scan(nil), nil)
	if !tok.IsZero() || !s.IsZero() {
		t.Errorf("NULL scanned to %v and %v", tok, s)
	}
}

func TestSQLScanMalformed(t *testing.T) {
	for name, c := range map[string]struct {
		src  any
		want error
	}{
		"number":       {int64(53), fence.ErrBadToken},
		"double":       {53.0, fence.ErrBadToken},
		"bool":         {true, fence.ErrBadToken},
		"time":         {time.Time{}, fence.ErrBadToken},
		"not a token":  {"53", fence.ErrBadToken},
		"bytes":        {[]byte("53"), fence.ErrBadToken},
		"empty string": {"", fence.ErrNoToken},
		"empty bytes":  {[]byte{}, fence.ErrNoToken},
		"no bytes":     {[]byte(nil), fence.ErrNoToken},
	} {
		t.Run(name, func(t *testing.T) {
			tok, s := token(t, 7), token(t, 7).At(7)
			mustBe(t, "token", tok.Scan(c.src), c.want)
			mustBe(t, "stamp", s.Scan(c.src), c.want)
			if tok != token(t, 7) || s != token(t, 7).At(7) {
				t.Errorf("a failed scan left %v and %v", tok, s)
			}
		})
	}
}

// A driver may reuse its buffer after Scan.
func TestSQLScanCopies(t *testing.T) {
	column, _ := token(t, 7).MarshalText()
	var tok fence.Token
	mustBe(t, "Scan", tok.Scan(column), nil)
	clear(column)
	if tok != token(t, 7) {
		t.Errorf("the token changed with the buffer: %v", tok)
	}
}
