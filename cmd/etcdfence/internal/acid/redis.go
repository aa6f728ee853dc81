package acid

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/fence/redisfence"
)

// Redis is a boundary that is one script: it returns 1 if it accepts and 0 if it refuses.
type Redis struct {
	client *redis.Client
	script *redis.Script
	keys   []string
	read   []any // the words of a command
}

// NewRedis takes the text of a script. Its ARGV are epoch, revision, sequence, owner, lock
// and value, its KEYS the given ones. The client becomes the boundary's to close.
func NewRedis(client *redis.Client, script string, keys []string, read string) *Redis {
	b := &Redis{client: client, script: redis.NewScript(script), keys: keys}
	for _, word := range strings.Fields(read) {
		b.read = append(b.read, word)
	}
	return b
}

// Write runs the script.
func (b *Redis) Write(ctx context.Context, w Write) error {
	t := w.Stamp.Token()
	n, err := b.script.Run(ctx, b.client, b.keys, t.Epoch(), t.Revision(), w.Stamp.Sequence(), t.Owner(), t.Lock(), w.Value).Int()
	switch {
	case err != nil:
		return err
	case n == 0:
		return ErrRefused
	case n == 1:
		return nil
	}
	return fmt.Errorf("the script has returned %d, which is neither 1 nor 0", n)
}

// Read runs the command.
func (b *Redis) Read(ctx context.Context) (string, error) {
	if len(b.read) == 0 {
		return "", ErrNoRead
	}
	answer, err := b.client.Do(ctx, b.read...).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return fmt.Sprint(answer), err
}

// Anonymous cannot be asked: the script takes what it is given.
func (*Redis) Anonymous(context.Context, string) error { return ErrNoAnonymous }

// Abandon ends the command's context.
func (b *Redis) Abandon(ctx context.Context, w Write) error {
	return abandon(ctx, func(ctx context.Context) error { return b.Write(ctx, w) })
}

// Owners is true: the script is given the owner.
func (*Redis) Owners() bool { return true }

// Close closes the connections.
func (b *Redis) Close(context.Context) error { return b.client.Close() }

// NewRedisFence is a boundary that is redisfence, under keys of its own, which Close deletes.
func NewRedisFence(ctx context.Context, client *redis.Client, lock string) (Boundary, error) {
	tag := "{etcdfence-check-" + strings.ToLower(rand.Text()[:8]) + "}"
	r, err := redisfence.Open(ctx, client, tag+":fence", lock, nil)
	if err != nil {
		return nil, err
	}
	return &resource[*redisfence.Tx]{
		fenced: r,
		set: func(_ context.Context, tx *redisfence.Tx, value string) error {
			tx.Set(tag+":value", value)
			return nil
		},
		read: func(ctx context.Context) (string, error) {
			value, err := client.Get(ctx, tag+":value").Result()
			if errors.Is(err, redis.Nil) {
				return "", nil
			}
			return value, err
		},
		close: func(ctx context.Context) error {
			err := client.Del(ctx, tag+":fence", tag+":value").Err()
			return errors.Join(err, client.Close())
		},
	}, nil
}
