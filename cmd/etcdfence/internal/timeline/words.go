package timeline

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

// sentence is what happened, to be read behind the name of who did it.
func sentence(e Event) string {
	switch e.Kind {
	case Asked:
		if e.Who == B {
			return "asks etcd for the lock, and waits"
		}
		return "asks etcd for the lock"
	case Granted:
		return fmt.Sprintf("gives %s the lock, for %s at a time", e.Of, short(e.TTL))
	case Claimed:
		return "claims the store: it shows its token"
	case Checked:
		return `asks etcd "do I still hold the lock?"`
	case Stopped:
		return "is STOPPED before its write (SIGSTOP)"
	case Expired:
		return fmt.Sprintf("has not heard from %s: the lease has run out", e.Of)
	case Wrote:
		return "writes " + e.Value
	case Continued:
		return "goes on (SIGCONT); it does not know that it slept"
	}
	return string(e.Kind)
}

// reply is the answer to what somebody did, and whether it is a good one. The answer
// of a store without a fence is another word, because it has decided nothing.
func reply(e Event) (answer string, good bool) {
	switch {
	case e.Kind == Checked:
		return "yes", true
	case !e.Answered():
		return "", true
	case e.Err == nil && e.Check:
		return "accepted", true
	case e.Err == nil:
		return "ok", true
	}
	return "REFUSED: " + reason(e.Err), false
}

// reason is why the store refused, in a few words.
func reason(err error) string {
	var refused *fence.RefusedError
	switch {
	case errors.Is(err, fence.ErrStale) && errors.As(err, &refused):
		return fmt.Sprintf("stale, it knows %d", refused.Mark.Token().Revision())
	case errors.As(err, &refused):
		return refused.Reason.Error()
	}
	return err.Error()
}

func revision(e Event) string { return strconv.FormatInt(e.Token.Revision(), 10) }

// short is a duration in seconds, without zeros behind the point.
func short(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s" }
