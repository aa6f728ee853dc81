package kit

import (
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// state is what there is to know of a resource.
type state struct {
	mark  fence.Stamp
	value string
}

// kind is what was asked.
type kind int

const (
	apply kind = iota
	claim
	mark
	read
)

// input is one question.
type input struct {
	kind  kind
	lock  string
	stamp fence.Stamp
	value string
}

// output is its answer. The answer of a lost reply is unknown: anything.
type output struct {
	err     error
	unknown bool
	stamp   fence.Stamp // of mark
	value   string      // of read
}

// step says what the answer must be, and what is there afterwards.
func (in input) step(before state) (want output, after state) {
	switch in.kind {
	case mark:
		return output{stamp: before.mark}, before
	case read:
		return output{value: before.value}, before
	case claim:
		if in.stamp.Token() == before.mark.Token() && !in.stamp.IsZero() {
			return output{}, before
		}
		if err := fence.Judge(in.lock, before.mark, in.stamp); err != nil {
			return output{err: err}, before
		}
		return output{}, state{in.stamp, before.value}
	default:
		if err := fence.Judge(in.lock, before.mark, in.stamp); err != nil {
			return output{err: err}, before
		}
		return output{}, state{in.stamp, in.value}
	}
}

// agrees tells whether an answer is the wanted one: for a refusal the reason and all
// facts. A request that is wrong in itself may be refused without a look at the mark.
func (got output) agrees(want output) bool {
	if got.unknown {
		return true
	}
	if got.err == nil || want.err == nil {
		return got.err == nil && want.err == nil && got.stamp == want.stamp && got.value == want.value
	}
	var g, w *fence.RefusedError
	if !errors.As(got.err, &g) || !errors.As(want.err, &w) {
		return false
	}
	unlooked := g.Mark.IsZero() && (errors.Is(want.err, fence.ErrNoToken) || errors.Is(want.err, fence.ErrWrongLock))
	return errors.Is(got.err, w.Reason) && g.Lock == w.Lock && g.Presented == w.Presented && (g.Mark == w.Mark || unlooked)
}

func (in input) String() string {
	switch in.kind {
	case mark:
		return "mark"
	case read:
		return "read"
	case claim:
		return fmt.Sprintf("claim %v of %q", in.stamp, in.stamp.Token().Owner())
	}
	return fmt.Sprintf("apply %v of %q, value %q", in.stamp, in.stamp.Token().Owner(), in.value)
}

func (got output) String() string {
	switch {
	case got.unknown:
		return "unknown"
	case got.err != nil:
		return got.err.Error()
	}
	return fmt.Sprintf("ok %v %q", got.stamp, got.value)
}
