package redisfence

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

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

// markLines is how many lines the mark has, as fence.lua shows it.
const markLines = 7

func parse(reply string) (answer, error) {
	word, rest, _ := strings.Cut(reply, "\n")
	a := answer{word: word}
	if word == "foreign" {
		return a, ErrForeign
	}
	if text, ok := strings.CutPrefix(rest, "\n"); rest == "" || ok {
		a.more = text
		return a, nil // there is no mark
	}
	lines := strings.SplitN(rest, "\n", markLines+1)
	if len(lines) < markLines || lines[0] != "etcdfence 1" {
		return a, fmt.Errorf("%w: %.200q", errAnswer, reply)
	}
	if len(lines) > markLines {
		a.more = lines[markLines]
	}
	numbers := [4]int64{}
	for i, text := range append(strings.Split(lines[1], " "), lines[4]) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || i == len(numbers) {
			return a, fmt.Errorf("%w: %w", ErrForeign, err)
		}
		numbers[i] = n
	}
	a.rebases = numbers[3]
	t, err := fence.NewToken(lines[3], numbers[0], numbers[1], lines[2])
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	a.mark = t.At(numbers[2])
	return a, nil
}
