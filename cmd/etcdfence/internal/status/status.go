// Package status shows who holds which lock and who waits: once, or whenever it changes.
package status

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/queue"
	"github.com/etcdfence/etcdfence/etcdfence"
)

// Options of [Run].
type Options struct {
	Lock  string // empty: all of them
	Locks etcdfence.Options
	Watch bool
	JSON  bool

	Terminal bool          // draw over what was drawn before
	Colour   bool          //
	Timeout  time.Duration // for each question
	Every    time.Duration // how often the times are drawn anew on a terminal
}

// Run prints what there is, and with Watch goes on until ctx ends.
func Run(ctx context.Context, client *clientv3.Client, o Options, out io.Writer) error {
	s := &screen{Options: o, out: out, seen: map[string]time.Time{}}
	if !o.Watch {
		locks, err := s.read(ctx, client)
		if err != nil {
			return err
		}
		return s.draw(locks)
	}
	return s.watch(ctx, client)
}

type screen struct {
	Options
	out   io.Writer
	seen  map[string]time.Time // since when a key is watched, by key and create revision
	first time.Time
	last  string // what was drawn
}

func (s *screen) read(ctx context.Context, client *clientv3.Client) ([]queue.Lock, error) {
	rctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	locks, err := queue.Read(rctx, client, &s.Locks, s.Lock)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("reading the locks: %w", err)
	}
	return locks, nil
}

// watch draws again when a key changes, and on a terminal as time goes by.
func (s *screen) watch(ctx context.Context, client *clientv3.Client) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	key, opts := s.Locks.Prefix, []clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithKeysOnly()}
	if s.Lock != "" {
		raw, err := s.Locks.KeyPrefix(s.Lock)
		if err != nil {
			return cli.AsUnusable(err)
		}
		key = raw + "/"
	}
	if key == "" {
		key, opts = "\x00", []clientv3.OpOption{clientv3.WithFromKey(), clientv3.WithKeysOnly()}
	}
	changes := client.Watch(clientv3.WithRequireLeader(ctx), key, opts...)
	var ticks <-chan time.Time
	if s.Terminal && !s.JSON {
		ticker := time.NewTicker(s.Every)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		locks, err := s.read(ctx, client)
		if err == nil {
			err = s.draw(locks)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticks:
		case resp, ok := <-changes:
			// A watch from now on needs no history: it only breaks with the cluster's leader
			// or its client.
			if err := resp.Err(); err != nil || !ok {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				return fmt.Errorf("watching the locks: %w", err)
			}
		}
	}
}

func (s *screen) draw(locks []queue.Lock) error {
	now := time.Now()
	if s.first.IsZero() {
		s.first = now
	}
	views := s.views(locks, now)
	var text string
	if s.JSON {
		line, err := json.Marshal(views)
		if err != nil {
			return err
		}
		text = string(line) + "\n"
	} else {
		text = s.table(views)
	}
	if s.Watch && !s.Terminal && unchanged(&s.last, views) {
		return nil
	}
	if s.Watch && s.Terminal && !s.JSON {
		text = "\x1b[H\x1b[2J" + text
	} else if s.Watch && !s.JSON {
		text = now.Format(time.TimeOnly) + "\n" + text + "\n"
	}
	_, err := io.WriteString(s.out, text)
	return err
}
