// Command pause shows what a fence is for: a worker is paused past its lease, another
// one takes the lock over and writes, and the first one wakes up and writes too.
//
//	go run ./examples/pause
//	go run ./examples/pause -endpoints host:2379    # on an etcd of your own
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/examples/internal/localetcd"
	"github.com/etcdfence/etcdfence/fence"
)

func main() {
	endpoints := flag.String("endpoints", "", "an etcd to use instead of an embedded one, `host:port,...`")
	flag.Parse()
	err := run(context.Background(), os.Stdout, *endpoints)
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, endpoints string) error {
	cluster, err := localetcd.Open(ctx, endpoints)
	if err != nil {
		return err
	}
	defer cluster.Close()

	// Two workers with a connection and a lease of their own, as two processes have.
	a, err := worker(cluster, "worker-a")
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := worker(cluster, "worker-b")
	if err != nil {
		return err
	}
	defer b.Close()

	account, err := fence.NewMemory("account") // checks every write
	if err != nil {
		return err
	}
	plain := map[string]string{} // takes every write

	// snippet: pause
	holdA, err := a.Lock(ctx, "account")
	if err != nil {
		return err
	}
	asA, err := etcdfence.Bind(ctx, holdA, account)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "A holds           ", holdA.Token())

	// A computes its result, and is paused: a collection of garbage, a debugger, a
	// suspended machine. Its lease runs out.
	resultOfA := "v1"
	if err := cluster.ExpireOwner(ctx, holdA.Key()); err != nil {
		return err
	}

	holdB, err := b.Lock(ctx, "account")
	if err != nil {
		return err
	}
	asB, err := etcdfence.Bind(ctx, holdB, account)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "B holds           ", holdB.Token())
	fmt.Fprintln(out, "B writes v2       ", answer(asB.Apply(ctx, put("v2"))))
	plain["value"] = "v2"

	// A goes on where it was, with what it believed then.
	err = asA.Apply(ctx, put(resultOfA))
	fmt.Fprintln(out, "A writes v1       ", answer(err))
	plain["value"] = resultOfA
	// end snippet

	if !errors.Is(err, fence.ErrStale) {
		return fmt.Errorf("A's late write should have been refused as stale: %v", err)
	}
	if err := holdA.Release(ctx); !errors.Is(err, etcdfence.ErrNotHeld) {
		return fmt.Errorf("A's late release should have touched nothing: %v", err)
	}
	fmt.Fprintln(out, "A releases        ", etcdfence.ErrNotHeld)
	fmt.Fprintln(out, "B still holds     ", answer(holdB.Verify(ctx)))
	value, _, err := account.Get(ctx, "value")
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	fmt.Fprintln(out, "with a fence      ", value)
	fmt.Fprintln(out, "without           ", plain["value"], "(B's write is lost, and both were told ok)")
	return holdB.Release(ctx)
}

func worker(cluster *localetcd.Cluster, name string) (*etcdfence.Adapter, error) {
	client, err := cluster.Client(0)
	if err != nil {
		return nil, err
	}
	return etcdfence.New(client, &etcdfence.Options{Prefix: "/etcdfence-example", Owner: name})
}

func put(value string) func(context.Context, *fence.MemoryTx) error {
	return func(_ context.Context, tx *fence.MemoryTx) error {
		tx.Put("value", value)
		return nil
	}
}

func answer(err error) any {
	if err == nil {
		return "ok"
	}
	return err
}
