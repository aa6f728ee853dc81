// Package demo runs the demonstration: a worker that is paused past its lease, another
// one that takes over, and a store that tells them apart. The director (this process)
// starts both workers as processes, stops and continues one of them, and writes a
// timeline of what it sees.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/etcdctl"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/timeline"
)

// Options of [Run].
type Options struct {
	Etcd    *clientv3.ConfigSpec // nil: start one
	Store   string               // as --store has it
	TTL     time.Duration        // of the leases, at least a second
	SVG     string               // a file for the picture; empty: none
	HTML    string               // a file for the page; empty: none
	JSON    bool                 // one object instead of text
	Colour  bool
	Program []string // path and name of the program that has the hidden verb
}

// Check returns what is wrong with the options, before anything is done.
func (o Options) Check() error {
	if _, _, err := parseStore(o.Store); err != nil {
		return err
	}
	if o.TTL < time.Second || o.TTL > time.Minute {
		return fmt.Errorf("--ttl %v is not between 1s and 1m", o.TTL)
	}
	return supported()
}

// cleanup is how long removing the keys, or the tables, may take.
const cleanup = 2 * time.Second

// Run tells the story and shows it on out. It returns nil if it came out, and removes
// everything that it has made, also when ctx ends.
func Run(ctx context.Context, o Options, out io.Writer) (err error) {
	etcdctl.Quiet()
	// A signal explains every error that came after it.
	defer func() {
		if cause := context.Cause(ctx); errors.Is(cause, cli.ErrInterrupted) {
			err = cause
		}
	}()
	if err := o.Check(); err != nil {
		return cli.AsUnusable(err)
	}
	var files []*picture
	for _, p := range []picture{{flag: "--svg", draw: timeline.SVG}, {flag: "--html", draw: timeline.HTML}} {
		path := map[string]string{"--svg": o.SVG, "--html": o.HTML}[p.flag]
		if path == "" {
			continue
		}
		if err := p.open(path); err != nil {
			return cli.AsUnusable(err)
		}
		defer p.discard()
		files = append(files, &p)
	}
	story, err := o.play(ctx, out)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := file.save(story); err != nil {
			return cli.AsUnusable(err)
		}
	}
	return story.Check()
}

// play sets the stage, tells the story, and clears the stage.
func (o Options) play(ctx context.Context, out io.Writer) (story timeline.Story, err error) {
	run := strings.ToLower(rand.Text()[:12])
	dir, err := os.MkdirTemp("", "etcdfence-demo-")
	if err != nil {
		return story, cli.AsUnusable(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	clear := func(what string, close func(context.Context) error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
		defer cancel()
		if cerr := close(ctx); cerr != nil {
			err = errors.Join(err, fmt.Errorf("cleaning up %s: %w", what, cerr))
		}
	}
	cluster, err := openCluster(ctx, o.Etcd, dir, run)
	if err != nil {
		return story, cli.AsUnusable(err)
	}
	defer clear("etcd", cluster.close)
	store, err := o.openStore(ctx, cluster.spec, dir, run)
	if err != nil {
		return story, cli.AsUnusable(err)
	}
	defer clear("the store", store.close)

	kind, _, _ := strings.Cut(o.Store, "=")
	d := &director{program: o.Program, cluster: cluster, store: store, ttl: o.TTL, seen: o.audience(out),
		story: timeline.Story{Lock: lockName, Store: storeTitle(kind),
			Etcd: timeline.Etcd{Endpoints: cluster.spec.Endpoints, Embedded: cluster.own != nil}}}
	if err := d.tell(ctx); err != nil {
		return d.story, err
	}
	return d.story, d.seen.conclude(d.story)
}

func (o Options) openStore(ctx context.Context, spec *clientv3.ConfigSpec, dir, run string) (store, error) {
	ctx, cancel := context.WithTimeout(ctx, spec.RequestTimeout)
	defer cancel()
	return openStore(ctx, o.Store, dir, run)
}
