package fence

import (
	"encoding/binary"
	"fmt"
)

// The first byte says what follows, so that a token is never read as a stamp. The
// numbers come next because they decide the order; none is negative, so unsigned
// bytes sort as they do.
const (
	kindToken byte = 1
	kindStamp byte = 2
)

// MarshalBinary implements [encoding.BinaryMarshaler]. The forms of one lock's
// tokens sort as bytes the way the tokens do; only where [Token.Compare] says 0 may
// the bytes still differ, by owner. It returns [ErrNoToken] for the zero Token.
func (t Token) MarshalBinary() ([]byte, error) { return t.At(0).appendBinary(kindToken) }

// MarshalBinary implements [encoding.BinaryMarshaler], as [Token.MarshalBinary].
func (s Stamp) MarshalBinary() ([]byte, error) { return s.appendBinary(kindStamp) }

func (s Stamp) appendBinary(kind byte) ([]byte, error) {
	if s.IsZero() {
		return nil, ErrNoToken
	}
	b := []byte{kind}
	for _, n := range []int64{s.token.epoch, s.token.revision, s.sequence} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(s.token.owner)))
	return append(append(b, s.token.owner...), s.token.lock...), nil
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]. It returns [ErrNoToken]
// for no bytes and [ErrBadToken] for others than a token's; t is then unchanged.
func (t *Token) UnmarshalBinary(b []byte) error {
	s, err := parseBinary(b, kindToken)
	if err == nil {
		*t = s.token
	}
	return err
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler], as
// [Token.UnmarshalBinary].
func (s *Stamp) UnmarshalBinary(b []byte) error {
	p, err := parseBinary(b, kindStamp)
	if err == nil {
		*s = p
	}
	return err
}

func parseBinary(b []byte, kind byte) (Stamp, error) {
	const head = 1 + 3*8 + 2 // kind, three numbers, the owner's length
	switch {
	case len(b) == 0:
		return Stamp{}, ErrNoToken
	case b[0] != kind:
		return Stamp{}, fmt.Errorf("%w: the first byte is %d, want %d", ErrBadToken, b[0], kind)
	case len(b) < head:
		return Stamp{}, fmt.Errorf("%w: cut off after %d bytes", ErrBadToken, len(b))
	}
	n := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[1+8*i:])) }
	ownerEnd := head + int(binary.BigEndian.Uint16(b[head-2:]))
	if ownerEnd > len(b) {
		return Stamp{}, fmt.Errorf("%w: cut off inside the owner", ErrBadToken)
	}
	t, err := NewToken(string(b[ownerEnd:]), n(0), n(1), string(b[head:ownerEnd]))
	if err != nil {
		return Stamp{}, err
	}
	if seq := n(2); seq < 0 || kind == kindToken && seq != 0 {
		return Stamp{}, fmt.Errorf("%w: sequence %d", ErrBadToken, seq)
	}
	return t.At(n(2)), nil
}
