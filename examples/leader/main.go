// Command leader runs a service of two replicas of which one leads. The leader stalls, the
// other one takes over, and the first one finishes what it had begun: too late.
//
//	go run ./examples/leader
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/examples/internal/localetcd"
	"github.com/etcdfence/etcdfence/fence"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	cluster, err := localetcd.Start(ctx, 1)
	if err != nil {
		return err
	}
	defer cluster.Close()
	store, err := fence.NewMemory("scheduler")
	if err != nil {
		return err
	}
	var background sync.WaitGroup
	defer background.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	looking, err := connect(cluster, "onlooker")
	if err != nil {
		return err
	}
	defer looking.Close()
	news := make(chan string)
	background.Go(func() {
		_ = onlooker(ctx, looking, func(what string) {
			select {
			case news <- what:
			case <-ctx.Done():
			}
		})
	})
	report := func(who, what string) { fmt.Fprintf(out, "%-10s %s\n", who, what) }
	awaitNews := func(want string) {
		for {
			select {
			case what := <-news:
				if what == want {
					report("onlooker:", what)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
	awaitNews("nobody leads")

	// East leads and does a job. It stalls in the second one, and its lease runs out.
	east, err := newReplica(cluster, store, "east")
	if err != nil {
		return err
	}
	defer east.locks.Close()
	stalled, goOn := make(chan struct{}), make(chan struct{})
	east.slow = func(job string) string {
		if job == "job 2" {
			close(stalled)
			select {
			case <-goOn:
			case <-ctx.Done():
			}
		}
		return job + " by east"
	}
	background.Go(func() { _ = east.run(ctx) })
	awaitNews("east leads")
	east.jobs <- "job 1"
	report("east:", answer("job 1", <-east.wrote))
	east.jobs <- "job 2"
	<-stalled
	leader, err := looking.Leader(ctx, "scheduler")
	if err != nil {
		return err
	}
	if err := cluster.ExpireOwner(ctx, leader.Key); err != nil {
		return err
	}
	awaitNews("nobody leads") // east does not campaign either: its function has not returned

	west, err := newReplica(cluster, store, "west")
	if err != nil {
		return err
	}
	defer west.locks.Close()
	wctx, stopWest := context.WithCancel(ctx)
	defer stopWest()
	westEnded := make(chan error, 1)
	background.Go(func() { westEnded <- west.run(wctx) })
	awaitNews("west leads")
	west.jobs <- "job 2"
	report("west:", answer("job 2", <-west.wrote))

	close(goOn) // east goes on where it was
	late := <-east.wrote
	report("east:", answer("job 2", late))
	if !errors.Is(late, fence.ErrStale) {
		return fmt.Errorf("east's late write should have been refused as stale: %v", late)
	}

	stopWest() // an ordinary shutdown: west's function returns, then the leadership is released
	if err := <-westEnded; !errors.Is(err, context.Canceled) {
		return err
	}
	report("west:", "shut down")
	awaitNews("east leads")
	east.jobs <- "job 3"
	report("east:", answer("job 3", <-east.wrote))
	value, _, err := store.Get(ctx, "last")
	if err != nil {
		return err
	}
	report("store:", value)
	return nil
}

func newReplica(cluster *localetcd.Cluster, store *fence.Memory, name string) (*replica, error) {
	locks, err := connect(cluster, name)
	if err != nil {
		return nil, err
	}
	return &replica{name: name, locks: locks, store: store, jobs: make(chan string), wrote: make(chan error, 1),
		slow: func(job string) string { return job + " by " + name }}, nil
}

func connect(cluster *localetcd.Cluster, name string) (*etcdfence.Adapter, error) {
	client, err := cluster.Client(0)
	if err != nil {
		return nil, err
	}
	return etcdfence.New(client, &etcdfence.Options{Prefix: "/etcdfence-example", Owner: name})
}

func answer(what string, err error) string {
	if err != nil {
		return what + ": " + err.Error()
	}
	return what + ": written"
}
