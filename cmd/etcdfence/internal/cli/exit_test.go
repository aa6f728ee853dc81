package cli

import (
	"errors"
	"fmt"
	"testing"
)

func TestCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, OK},
		{AsUnusable(nil), OK},
		{errors.New("x"), Failed},
		{Unusablef("x"), Unusable},
		{fmt.Errorf("y: %w", Unusablef("x")), Unusable},
		{fmt.Errorf("y: %w", ErrInterrupted), Interrupted},
		{&ExitError{ExitCode: 7}, 7},
		{fmt.Errorf("y: %w", &ExitError{121, errors.New("x")}), 121},
		{errors.Join(Unusablef("x"), ErrInterrupted), Interrupted},
	} {
		if got := Code(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

func TestMessage(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{&ExitError{ExitCode: 7}, ""},
		{&ExitError{7, errors.New("x\ny")}, "x y"},
		{errors.New("x"), "x"},
	} {
		if got := Message(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := OneLine(errors.New("failed:\n\t[::1]:5432\r\n  refused\n ()")); got != "failed: [::1]:5432 refused ()" {
		t.Errorf("got %q", got)
	}
}
