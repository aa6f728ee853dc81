package fence

import (
	"cmp"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// The longest lock name and the longest owner, in bytes. A store may keep them in
// an indexed column, so they are small enough for every index we know of.
const (
	MaxLock  = 512
	MaxOwner = 256
)

// Token is one generation of one lock. The zero Token is no token: every
// resource refuses it with [ErrNoToken]. Tokens are values; copy them freely.
type Token struct {
	lock     string
	owner    string
	epoch    int64
	revision int64
}

// NewToken builds a token from its four parts. The revision is the create
// revision of the lock's key, at least 1; the epoch is 0 until an operator
// raises it after restoring etcd from a backup; lock and owner are non-empty
// UTF-8 without control characters and without U+FFFD, at most [MaxLock] and
// [MaxOwner] bytes. It returns [ErrBadToken] for anything else.
//
// Most programs never call it: the etcdfence package hands out tokens that come
// from a real lock.
func NewToken(lock string, epoch, revision int64, owner string) (Token, error) {
	if err := CheckLock(lock); err != nil {
		return Token{}, err
	}
	if err := checkName(ErrBadToken, "owner", owner, MaxOwner); err != nil {
		return Token{}, err
	}
	if epoch < 0 {
		return Token{}, fmt.Errorf("%w: epoch %d is negative", ErrBadToken, epoch)
	}
	if revision < 1 {
		return Token{}, fmt.Errorf("%w: revision %d is not positive", ErrBadToken, revision)
	}
	return Token{lock: lock, owner: owner, epoch: epoch, revision: revision}, nil
}

// CheckLock returns nil if name can be the name of a lock, and otherwise an
// [ErrBadToken] that says what is wrong with it.
func CheckLock(name string) error { return checkName(ErrBadToken, "lock name", name, MaxLock) }

// checkName wraps kind. U+FFFD is refused along with broken UTF-8: decoders put it
// where they lost something, and two locks must not become one on the way.
func checkName(kind error, what, s string, limit int) error {
	switch {
	case s == "":
		return fmt.Errorf("%w: the %s is empty", kind, what)
	case len(s) > limit:
		return fmt.Errorf("%w: the %s has %d bytes, more than %d", kind, what, len(s), limit)
	}
	for _, r := range s {
		switch {
		case r == utf8.RuneError:
			return fmt.Errorf("%w: the %s is not valid UTF-8, or has the replacement character U+FFFD", kind, what)
		case unicode.IsControl(r):
			return fmt.Errorf("%w: the %s has the control character %U", kind, what, r)
		}
	}
	return nil
}

// Lock is the name of the lock this token is a generation of.
func (t Token) Lock() string { return t.lock }

// Owner says who holds: an identity for people and for telling two histories
// apart, never compared for order.
func (t Token) Owner() string { return t.owner }

// Epoch is the operator's number, raised when etcd was restored from a backup.
func (t Token) Epoch() int64 { return t.epoch }

// Revision is the create revision of the lock's key in etcd.
func (t Token) Revision() int64 { return t.revision }

// IsZero reports whether t is no token at all.
func (t Token) IsZero() bool { return t == Token{} }

// Compare orders two tokens of one lock by (epoch, revision): negative if t is
// older than u, zero if they are the same generation, positive if t is newer.
// Tokens of different locks have no order; the result is then meaningless.
func (t Token) Compare(u Token) int {
	return cmp.Or(cmp.Compare(t.epoch, u.epoch), cmp.Compare(t.revision, u.revision))
}

// WithEpoch returns the same token in another epoch. It is for code that mints
// tokens from its own mutex; an adapter has an option for it.
func (t Token) WithEpoch(epoch int64) (Token, error) {
	return NewToken(t.lock, epoch, t.revision, t.owner)
}

// At returns the stamp of this token with the given sequence number: 0 for a
// claim, then 1, 2, 3 for the writes of the hold. The result is the zero Stamp,
// which every resource refuses, if t is zero or the number is negative.
func (t Token) At(sequence int64) Stamp {
	if t.IsZero() || sequence < 0 {
		return Stamp{}
	}
	return Stamp{token: t, sequence: sequence}
}

// String shows the token to a person: "orders/42@53", or "orders/42@1.53" in
// epoch 1. It leaves the owner out; use [Token.MarshalText] to send a token.
func (t Token) String() string {
	switch {
	case t.IsZero():
		return "no token"
	case t.epoch == 0:
		return fmt.Sprintf("%s@%d", t.lock, t.revision)
	}
	return fmt.Sprintf("%s@%d.%d", t.lock, t.epoch, t.revision)
}
