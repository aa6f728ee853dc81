package redisfence

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// saw remembers the newest state.
func (r *Resource) saw(s state) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen.older(s) {
		r.seen = s
	}
}

// ask presents a stamp and makes an error of what comes back.
func (r *Resource) ask(ctx context.Context, script *Script, c *call, s fence.Stamp, keys []string, args []any) error {
	a, lost, err := r.send(ctx, script, c, keys, args)
	if err != nil && !errors.Is(err, ErrForeign) && !errors.Is(err, errAnswer) {
		return failure(ctx, "write", lost, err)
	}
	if err == nil {
		err = r.verdict(a, c, s, args)
	} else {
		err = r.foreign(err)
	}
	if err != nil && lost {
		// An earlier sending may have been applied, and overtaken by another holder since.
		return fmt.Errorf("redisfence: write: %w: an answer was lost, and the next one is: %w", fence.ErrUnknownOutcome, err)
	}
	return err
}

// verdict is what an answer means.
func (r *Resource) verdict(a answer, c *call, s fence.Stamp, args []any) error {
	if mark := a.mark; !mark.IsZero() && mark.Token().Lock() != r.lock {
		return r.wrongLock(mark, s)
	}
	if a.word == "back" {
		r.mu.Lock()
		seen := r.seen
		r.mu.Unlock()
		return fmt.Errorf("%w: %q is at %v, and was at %v", ErrWentBack, r.keys[0], a.mark, seen.mark)
	}
	r.saw(a.state)
	switch a.word {
	case "ok":
		return nil
	case "refused":
		if err := r.judge(r.lock, a.mark, s); err != nil {
			return err
		}
	case "duplicate":
		id, _ := args[0].(string)
		return duplicate(c, id, a.more)
	case "unfit":
		return fmt.Errorf("%w: %s", ErrUnfit, a.more)
	case "torn":
		return fmt.Errorf("%w: %s", ErrTorn, a.more)
	}
	return fmt.Errorf("%w: %q of %v with the mark %v", errAnswer, a.word, s, a.mark)
}

// unpresentable is the answer to no stamp of ours, with the mark that there is.
func (r *Resource) unpresentable(ctx context.Context, s fence.Stamp, err error) error {
	if cerr := ctx.Err(); cerr != nil {
		return fmt.Errorf("redisfence: nothing was sent: %w", cerr)
	}
	mark, rerr := r.read(ctx)
	if rerr != nil || !mark.IsZero() && mark.Token().Lock() != r.lock {
		return err
	}
	return fence.Judge(r.lock, mark, s)
}

// foreign says where it was.
func (r *Resource) foreign(err error) error {
	return fmt.Errorf("%w: in %q or beside it", err, r.keys[0])
}

func (r *Resource) wrongLock(mark, s fence.Stamp) error {
	return fmt.Errorf("redisfence: the key %q is guarded by another lock: %w", r.keys[0],
		&fence.RefusedError{Lock: mark.Token().Lock(), Presented: s, Mark: mark, Reason: fence.ErrWrongLock})
}
