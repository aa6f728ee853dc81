package fence_test

import (
	"context"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

func TestContext(t *testing.T) {
	bg := context.Background()
	one, two := token(t, 1), token(t, 2)
	none := fence.Token{}
	for name, c := range map[string]struct {
		ctx   context.Context
		token fence.Token
		stamp fence.Stamp
	}{
		"nothing":                       {bg, none, fence.Stamp{}},
		"a token is no stamp":           {fence.WithToken(bg, one), one, fence.Stamp{}},
		"a stamp brings its token":      {fence.WithStamp(bg, one.At(3)), one, one.At(3)},
		"a claim is a stamp":            {fence.WithStamp(bg, one.At(0)), one, one.At(0)},
		"the later token":               {fence.WithToken(fence.WithToken(bg, one), two), two, fence.Stamp{}},
		"the later stamp":               {fence.WithStamp(fence.WithStamp(bg, one.At(1)), two.At(2)), two, two.At(2)},
		"a stamp after a token":         {fence.WithStamp(fence.WithToken(bg, one), two.At(2)), two, two.At(2)},
		"a token after a stamp":         {fence.WithToken(fence.WithStamp(bg, one.At(1)), two), two, one.At(1)},
		"the zero token hides a token":  {fence.WithToken(fence.WithToken(bg, one), none), none, fence.Stamp{}},
		"the zero stamp hides the rest": {fence.WithStamp(fence.WithStamp(bg, one.At(1)), fence.Stamp{}), none, fence.Stamp{}},
	} {
		t.Run(name, func(t *testing.T) {
			child, cancel := context.WithCancel(c.ctx)
			defer cancel()
			tok, err := fence.TokenFrom(child)
			if tok != c.token {
				t.Errorf("token: got %v, want %v", tok, c.token)
			}
			mustBe(t, "TokenFrom", err, missing(c.token.IsZero()))
			s, err := fence.StampFrom(child)
			if s != c.stamp {
				t.Errorf("stamp: got %v, want %v", s, c.stamp)
			}
			mustBe(t, "StampFrom", err, missing(c.stamp.IsZero()))
		})
	}
}

func missing(is bool) error {
	if is {
		return fence.ErrNoToken
	}
	return nil
}
