package redisfence

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/fence"
)

// A client that sends a command again by itself, after a lost answer, does not say which
// answer belongs to which sending: a refusal may be that of the second, after the first was
// applied. So its repeats are switched off for our commands, and made here, where that is
// known.

// call is the first word of fence.lua's: what it must know. In it is a word that the call
// has made up; the mark keeps it, so that the script knows a repeat of the same call.
type call struct {
	word string
	text []byte
	sent atomic.Bool
}

// newCall is one that presents a stamp. operations is how many are kept, 0 for none here.
func (r *Resource) newCall(what string, s fence.Stamp, operations, needs int) *call {
	r.mu.Lock()
	seen := r.seen
	r.mu.Unlock()
	c := &call{word: cryptorand.Text()}
	t, u := s.Token(), seen.mark.Token()
	c.text = fmt.Appendf(nil, "%s\n%s\n%s\n%s\n%d %d %d\n%d %d %d %d\n%d %d", what, c.word, t.Lock(), t.Owner(),
		t.Epoch(), t.Revision(), s.Sequence(), seen.rebases, u.Epoch(), u.Revision(), seen.mark.Sequence(), operations, needs)
	return c
}

// MarshalBinary is what the client calls while it writes the command to a connection.
func (c *call) MarshalBinary() ([]byte, error) {
	c.sent.Store(true)
	return c.text, nil
}

func (c *call) String() string { return string(c.text) } // for the client's hooks

// once is a command that the client must not repeat. It still follows MOVED and ASK.
type once struct{ *redis.Cmd }

// NoRetry tells the client so.
func (once) NoRetry() bool { return true }

// send runs a script on the mark and the keys until there is an answer, at most r.attempts
// times. lost says that the answer to an earlier sending, or to this one, did not come.
func (r *Resource) send(ctx context.Context, s *Script, c *call, keys []string, args []any) (a answer, lost bool, err error) {
	for attempt := range r.attempts {
		if err := pause(ctx, attempt); err != nil {
			return answer{}, lost, err
		}
		c.sent.Store(false)
		reply, err := r.run(ctx, "evalsha", s.sha, c, keys, args)
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			c.sent.Store(false)
			reply, err = r.run(ctx, "eval", s.text, c, keys, args)
		}
		if err == nil {
			a, err := parse(reply)
			return a, lost, err
		}
		var definite redis.Error
		lost = lost || c.sent.Load() && !errors.As(err, &definite)
		if attempt == r.attempts-1 || !again(ctx, err) {
			return answer{}, lost, err
		}
	}
	return answer{}, lost, errNoAttempt // attempts are at least 1
}

var errNoAttempt = errors.New("redisfence: no attempt")

func (r *Resource) run(ctx context.Context, how, script string, c *call, keys []string, args []any) (string, error) {
	all := make([]any, 0, 5+len(keys)+len(args))
	all = append(all, how, script, 1+len(keys), r.keys[0])
	for _, key := range keys {
		all = append(all, key)
	}
	cmd := once{redis.NewCmd(ctx, append(append(all, c), args...)...)}
	cmd.SetFirstKeyPos(3)
	if err := r.client.Process(ctx, cmd); err != nil {
		return "", err
	}
	return cmd.Text()
}

// pause lets a server come up, and ends with the context.
func pause(ctx context.Context, attempt int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if attempt == 0 {
		return nil
	}
	timer := time.NewTimer(8*time.Millisecond<<min(attempt, 6) + rand.N(8*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
