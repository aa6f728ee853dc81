// Package acid presents stamps to a boundary that somebody else has built, from outside, and
// says which of the rules hold. It knows nothing of how the boundary decides.
package acid

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/etcdfence/etcdfence/fence"
)

// Boundary is what is tested: a place where writes arrive.
type Boundary interface {
	// Write presents one write. It returns nil if that was accepted, an error that is
	// [ErrRefused] if the boundary refused it, and any other one if that cannot be told.
	Write(ctx context.Context, w Write) error

	// Read returns what the boundary holds, as text in which the value of the last accepted
	// write occurs; or [ErrNoRead] if it cannot be asked.
	Read(ctx context.Context) (string, error)

	// Anonymous presents a write without a token, or returns [ErrNoAnonymous].
	Anonymous(ctx context.Context, value string) error

	// Abandon presents a write and does not wait for the answer: the boundary has received
	// it, or will, or not. It returns when nothing more of it is on our side.
	Abandon(ctx context.Context, w Write) error

	// Owners reports whether the boundary is told who the owner of a token is.
	Owners() bool

	// Close gives back what was opened, and removes what was made.
	Close(ctx context.Context) error
}

// Write is a stamp and a value that says whose it is.
type Write struct {
	Stamp fence.Stamp
	Value string
}

// What a Boundary may answer.
var (
	ErrRefused     = errors.New("refused")
	ErrNoRead      = errors.New("cannot be read")
	ErrNoAnonymous = errors.New("cannot be written without a token")
)

// marker finds a value of ours in whatever a read returns.
var marker = regexp.MustCompile(`etcdfence-check-(\d+)-(\d+)-(\d+)-([a-z0-9]+)`)

// valueOf is a value that names its stamp; tag tells writes of one stamp apart.
func valueOf(s fence.Stamp, tag string) string {
	t := s.Token()
	return fmt.Sprintf("etcdfence-check-%d-%d-%d-%s", t.Epoch(), t.Revision(), s.Sequence(), tag)
}

// held is the value of ours that the text has in it, empty if there is none, and its place in
// the order: epoch, revision, sequence.
func held(text string) (value string, order [3]int64) {
	m := marker.FindStringSubmatch(text)
	if m == nil {
		return "", order
	}
	for i := range order {
		order[i], _ = strconv.ParseInt(m[i+1], 10, 64) // digits; one of ours fits
	}
	return m[0], order
}
