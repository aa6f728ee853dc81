package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// Whoever interrupts the story gets it ended at once, with nothing left: no file, no
// process, also if it is stopped just then.
func TestInterrupted(t *testing.T) {
	// Under nohup we would pass the ignored signal on; one that is caught is at its
	// default in a child again.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	for name, c := range map[string]struct {
		signal syscall.Signal
		at     string
		args   []string
	}{
		"at the beginning":      {syscall.SIGINT, "Two workers", nil},
		"while A is stopped":    {syscall.SIGINT, "is STOPPED", nil},
		"while B waits":         {syscall.SIGTERM, "and waits", []string{"--store", "memory"}},
		"hangup while B waits":  {syscall.SIGHUP, "and waits", []string{"--store", "memory"}},
		"in the second act":     {syscall.SIGINT, "WITHOUT A FENCE", []string{"--ttl", "1s"}},
		"stopped in the second": {syscall.SIGTERM, "WITHOUT A FENCE", []string{"--ttl", "1s", "--store", "memory"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			picture := filepath.Join(t.TempDir(), "story.svg")
			p := start(t, append([]string{"demo", "--svg", picture}, c.args...)...)
			p.until(c.at)
			if name == "stopped in the second" {
				p.until("is STOPPED")
			}
			p.signal(c.signal)
			p.ends(130, 10*time.Second, "etcdfence demo: interrupted")
			if found, _ := filepath.Glob(picture); found != nil {
				t.Error("an empty picture is left")
			}
		})
	}
}

// An etcd of the user's has no key of ours after an interruption, and no lease.
func TestInterruptedOnACluster(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	p := start(t, "demo", "--endpoints", server.Address(), "--store", "memory", "--ttl", "30s")
	p.until("and waits")
	server.WaitQueued(t, "/etcdfence-demo/", 2)
	p.signal(syscall.SIGINT)
	p.ends(130, 10*time.Second, "interrupted")
	if keys := remaining(t, server); len(keys) > 0 {
		t.Errorf("keys left in etcd: %q", keys)
	}
	server.NoLeasesLeft(t)
}

// An etcd that goes away in the middle ends the story: it did not come out.
func TestEtcdGoesAway(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	p := start(t, "demo", "--endpoints", server.Address(), "--store", "memory", "--ttl", "1s")
	p.until("and waits")
	server.Stop()
	p.ends(1, 20*time.Second, "etcdfence demo: ")
}

// A reader that has seen enough, such as head, ends the story, and nothing is left.
func TestNobodyReads(t *testing.T) {
	t.Parallel()
	p := start(t, "demo", "--store", "memory", "--ttl", "1s")
	p.until("is STOPPED")
	p.close()
	p.ends(2, 10*time.Second, "cannot write the timeline")
}
