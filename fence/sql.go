package fence

import (
	"database/sql/driver"
	"fmt"
)

// Value implements [driver.Valuer] with the text form; the zero Token is NULL.
func (t Token) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil
	}
	b, err := t.MarshalText()
	return string(b), err
}

// Value implements [driver.Valuer] with the text form; the zero Stamp is NULL.
func (s Stamp) Value() (driver.Value, error) {
	if s.IsZero() {
		return nil, nil
	}
	b, err := s.MarshalText()
	return string(b), err
}

// Scan implements [database/sql.Scanner]; NULL is the zero Token. It returns
// [ErrBadToken] for anything that is not the text form of a token.
func (t *Token) Scan(src any) error {
	text, err := scanned(src)
	switch {
	case err != nil:
		return err
	case text == nil:
		*t = Token{}
		return nil
	}
	return t.UnmarshalText(text)
}

// Scan implements [database/sql.Scanner], as [Token.Scan].
func (s *Stamp) Scan(src any) error {
	text, err := scanned(src)
	switch {
	case err != nil:
		return err
	case text == nil:
		*s = Stamp{}
		return nil
	}
	return s.UnmarshalText(text)
}

func scanned(src any) ([]byte, error) {
	switch v := src.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(v), nil
	case []byte:
		return append([]byte{}, v...), nil
	}
	return nil, fmt.Errorf("%w: a column of type %T, not text", ErrBadToken, src)
}
