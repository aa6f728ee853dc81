package fence

import (
	"database/sql/driver"
	"fmt"
)

// Value implements [driver.Valuer] with the text form, which is ASCII and never
// longer than 2400 bytes; the zero Token is NULL.
func (t Token) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil
	}
	b, err := t.MarshalText()
	return string(b), err
}

// Value implements [driver.Valuer], as [Token.Value]; the zero Stamp is NULL.
func (s Stamp) Value() (driver.Value, error) {
	if s.IsZero() {
		return nil, nil
	}
	b, err := s.MarshalText()
	return string(b), err
}

// Scan implements [database/sql.Scanner]; NULL is the zero Token. It returns the
// errors of [Token.UnmarshalText], and [ErrBadToken] for a column that is not
// text; t is then unchanged.
func (t *Token) Scan(src any) error {
	if src == nil {
		*t = Token{}
		return nil
	}
	return scan(src, t.UnmarshalText)
}

// Scan implements [database/sql.Scanner], as [Token.Scan].
func (s *Stamp) Scan(src any) error {
	if src == nil {
		*s = Stamp{}
		return nil
	}
	return scan(src, s.UnmarshalText)
}

func scan(src any, unmarshal func([]byte) error) error {
	switch v := src.(type) {
	case string:
		return unmarshal([]byte(v))
	case []byte:
		return unmarshal(v)
	}
	return fmt.Errorf("%w: a column of type %T, not text", ErrBadToken, src)
}
