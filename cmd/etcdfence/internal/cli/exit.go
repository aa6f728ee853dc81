// Package cli is what all verbs share: exit codes, help, and whether to use colours.
package cli

import (
	"errors"
	"fmt"
	"strings"
)

// The exit codes.
const (
	OK          = 0
	Failed      = 1   // it ran, and did not come out
	Unusable    = 2   // it could not run: flags, endpoints, files
	Interrupted = 130 // Ctrl-C, or asked to end
)

// ErrInterrupted is returned when a signal has ended a verb. There is nothing to do.
var ErrInterrupted = errors.New("interrupted")

// unusable marks an error that came before anything was done.
type unusable struct{ error }

func (u unusable) Unwrap() error { return u.error }

// AsUnusable marks err as one that kept a verb from beginning. nil stays nil.
func AsUnusable(err error) error {
	if err == nil {
		return nil
	}
	return unusable{err}
}

// Unusablef makes an error that keeps a verb from beginning.
func Unusablef(format string, args ...any) error { return AsUnusable(fmt.Errorf(format, args...)) }

// Code is the exit code for what a verb returned.
func Code(err error) int {
	var u unusable
	switch {
	case err == nil:
		return OK
	case errors.Is(err, ErrInterrupted):
		return Interrupted
	case errors.As(err, &u):
		return Unusable
	}
	return Failed
}

// OneLine is the text of an error on one line, whatever a driver has put into it.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
