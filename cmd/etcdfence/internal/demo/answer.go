package demo

import (
	"errors"

	"github.com/etcdfence/etcdfence/fence"
)

// answer is a store's error on its way between processes: as in package fence, a
// refusal must be recognisable where it arrives. nil is acceptance.
type answer struct {
	Text      string
	Reason    string // empty if it is no refusal
	Lock      string
	Presented fence.Stamp
	Mark      fence.Stamp
}

var reasons = map[string]error{
	"stale": fence.ErrStale, "replayed": fence.ErrReplayed, "conflict": fence.ErrConflict,
	"no token": fence.ErrNoToken, "wrong lock": fence.ErrWrongLock,
}

func answerOf(err error) *answer {
	if err == nil {
		return nil
	}
	a := &answer{Text: err.Error()}
	var refused *fence.RefusedError
	if errors.As(err, &refused) {
		a.Lock, a.Presented, a.Mark = refused.Lock, refused.Presented, refused.Mark
		for name, reason := range reasons {
			if errors.Is(refused, reason) {
				a.Reason = name
			}
		}
	}
	return a
}

// err is the error again.
func (a *answer) err() error {
	switch {
	case a == nil:
		return nil
	case reasons[a.Reason] != nil:
		return &fence.RefusedError{Lock: a.Lock, Presented: a.Presented, Mark: a.Mark, Reason: reasons[a.Reason]}
	}
	return errors.New(a.Text)
}
