package fence

import (
	"cmp"
	"fmt"
)

// Stamp identifies one write of one hold: a token and a sequence number. One
// hold does many writes; the sequence makes every repeat and every reordering
// among them visible. The two numbers are never packed into one integer. The
// zero Stamp is no stamp.
type Stamp struct {
	token    Token
	sequence int64
}

// Token is the generation the write belongs to.
func (s Stamp) Token() Token { return s.token }

// Sequence counts the writes of one hold: 0 is the claim, the first write is 1.
func (s Stamp) Sequence() int64 { return s.sequence }

// IsZero reports whether s is no stamp at all.
func (s Stamp) IsZero() bool { return s == Stamp{} }

// Compare orders two stamps of one lock by (epoch, revision, sequence), as
// [Token.Compare] does for tokens. It does not look at the owner; [Judge] does.
func (s Stamp) Compare(u Stamp) int {
	return cmp.Or(s.token.Compare(u.token), cmp.Compare(s.sequence, u.sequence))
}

// String shows the stamp to a person: "orders/42@53#7".
func (s Stamp) String() string {
	if s.IsZero() {
		return "no stamp"
	}
	return fmt.Sprintf("%s#%d", s.token, s.sequence)
}
