package fence

import "context"

type tokenKey struct{}
type stampKey struct{}

// WithToken returns a context that carries t, for logs and for code that needs to
// know under which generation it runs. A token alone does not permit a write; a
// write carries a stamp. The zero Token hides one that ctx carried before.
func WithToken(ctx context.Context, t Token) context.Context {
	return context.WithValue(ctx, tokenKey{}, t)
}

// TokenFrom returns the token in ctx: the one of [WithToken], or of the stamp of
// [WithStamp], whichever was put last. It returns [ErrNoToken] if there is none.
func TokenFrom(ctx context.Context) (Token, error) {
	if t, _ := ctx.Value(tokenKey{}).(Token); !t.IsZero() {
		return t, nil
	}
	return Token{}, ErrNoToken
}

// WithStamp returns a context that carries s for exactly one write. Repeats of
// that write, by whichever layer, send the same stamp. [TokenFrom] then finds the
// stamp's token. The zero Stamp hides what ctx carried before.
func WithStamp(ctx context.Context, s Stamp) context.Context {
	return context.WithValue(WithToken(ctx, s.token), stampKey{}, s)
}

// StampFrom returns the stamp in ctx, or [ErrNoToken] if there is none. A token
// that was put later does not hide it.
func StampFrom(ctx context.Context) (Stamp, error) {
	if s, _ := ctx.Value(stampKey{}).(Stamp); !s.IsZero() {
		return s, nil
	}
	return Stamp{}, ErrNoToken
}
