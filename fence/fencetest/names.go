package fencetest

import (
	"errors"
	"strings"
	"unicode"

	"github.com/etcdfence/etcdfence/fence"
)

// difficult are names that stores mix up or spoil: by quoting, by patterns, by
// encoding, or by a collation that takes different ones for equal.
var difficult = []string{
	"owner", "OWNER", "owner ", " owner", "öwner", "o\u0308wner", "ｏｗｎｅｒ", // one and the same to some collations
	`it's "quoted" \ and \\`, "`; DROP TABLE marks; --", "%", "_", "100%s%d", "a:b|c,d;e=f&g#h@i/j?k",
	"{owner}", "$1", "?", "NULL", "0", "<b>&amp;</b>", "日本語 🦀 \u200b", "\u00a0", "-1",
	strings.Repeat("a", fence.MaxOwner), strings.Repeat("a", fence.MaxOwner-1) + "b",
	strings.Repeat("🦀", fence.MaxOwner/4), strings.Repeat("'", fence.MaxOwner),
}

// owners: each name comes back as it was, and no two are the same.
func owners[T any](r *run[T]) {
	c := r.main()
	for i, name := range difficult {
		revision := int64(100 + i) // all of one length: this case is not about numbers
		s := r.token(0, revision, name).At(1)
		c.accept(s, "mine")
		c.marked(s, "with a difficult owner")
		for _, step := range []int{1, len(difficult) - 1} { // a neighbour is the likeliest mistake
			other := r.token(0, revision, difficult[(i+step)%len(difficult)]).At(2)
			c.refusal(c.apply(other, "not mine").answer, fence.ErrConflict, other, s)
		}
		next := s.Token().At(2)
		if o := c.apply(next, "mine again"); o.err != nil {
			r.failf("the same owner's next write must be accepted: %v", o.err)
		}
	}
}

// swapCase makes a name that is another one only for those who look closely.
func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
