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

// ExitError ends the program with a code of its own. Without an Err nothing is printed:
// somebody else has said what there is to say.
type ExitError struct {
	ExitCode int
	Err      error
}

// Error is the text of Err.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.ExitCode)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

// Message is what to print about err on one line; empty for nothing.
func Message(err error) string {
	var exit *ExitError
	if err == nil || errors.As(err, &exit) && exit.Err == nil {
		return ""
	}
	return OneLine(err)
}

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
	var exit *ExitError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &exit):
		return exit.ExitCode
	case errors.Is(err, ErrInterrupted):
		return Interrupted
	case errors.As(err, &u):
		return Unusable
	}
	return Failed
}

// OneLine is the text of an error on one line, whatever a driver has put into it. That it
// comes from this library the program's name says already.
func OneLine(err error) string {
	return strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "etcdfence: ")
}
