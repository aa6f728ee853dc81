package redisfence

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/etcdfence/etcdfence/fence"
)

// answer is what fence.lua has returned: a word, the state that the mark is in now, and
// what more there is to say.
type answer struct {
	word string
	state
	more string
}

// state is a mark and how often it was rebased. States are ordered by age: only a rebase
// lowers a mark.
type state struct {
	rebases int64
	mark    fence.Stamp
}

func (s state) older(u state) bool {
	if s.rebases != u.rebases {
		return s.rebases < u.rebases
	}
	return s.mark.Compare(u.mark) < 0
}

var errAnswer = errors.New("redisfence: the script's answer cannot be read")

func parse(reply []any) (answer, error) {
	text := make([]string, 8)
	if len(reply) > len(text) {
		return answer{}, fmt.Errorf("%w: it has %d parts", errAnswer, len(reply))
	}
	for i, part := range reply {
		s, ok := part.(string)
		if !ok {
			return answer{}, fmt.Errorf("%w: a part is a %T", errAnswer, part)
		}
		text[i] = s
	}
	a := answer{word: text[0], more: text[7]}
	if a.word == "foreign" {
		return a, ErrForeign
	}
	var numbers [4]int64
	for i := range numbers {
		n, err := strconv.ParseInt(text[3+i], 10, 64)
		if err != nil {
			return a, fmt.Errorf("%w: %w", ErrForeign, err)
		}
		numbers[i] = n
	}
	a.rebases = numbers[3]
	if text[1] == "" && numbers[1] == 0 {
		return a, nil // there is no mark
	}
	t, err := fence.NewToken(text[1], numbers[0], numbers[1], text[2])
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	a.mark = t.At(numbers[2])
	return a, nil
}

// stampArgs are a stamp as fence.lua takes it; five empty words for none.
func stampArgs(s fence.Stamp) []any {
	if s.IsZero() {
		return []any{"", "", "", "", ""}
	}
	t := s.Token()
	return []any{t.Lock(), t.Owner(), t.Epoch(), t.Revision(), s.Sequence()}
}
