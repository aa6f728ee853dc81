// Command httpservice runs a service that refuses late requests, and two workers that write
// to it. The first one stalls between its reading and its writing, past its lease.
//
//	go run ./examples/httpservice
//	go run ./examples/httpservice -serve localhost:8080     the service alone, until Ctrl-C
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/examples/internal/localdb"
	"github.com/etcdfence/etcdfence/examples/internal/localetcd"
	"github.com/etcdfence/etcdfence/fence"
)

func main() {
	address := flag.String("serve", "", "run the service alone, on this address")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do := run
	if *address != "" {
		do = func(ctx context.Context, out io.Writer) error { return alone(ctx, out, *address) }
	}
	if err := do(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// alone runs the service for somebody else to try.
func alone(ctx context.Context, out io.Writer, address string) error {
	url, stop, err := serve(ctx, out, address)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(out, "service: is at %s/account, and takes claims at %s/fence\n", url, url)
	<-ctx.Done()
	return nil
}

func run(ctx context.Context, out io.Writer) error {
	cluster, err := localetcd.Start(ctx, 1)
	if err != nil {
		return err
	}
	defer cluster.Close()
	url, stop, err := serve(ctx, out, "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer stop()

	east, err := newWorker(cluster, "east", url)
	if err != nil {
		return err
	}
	defer east.locks.Close()
	west, err := newWorker(cluster, "west", url)
	if err != nil {
		return err
	}
	defer west.locks.Close()

	var inTheMeantime error
	east.think = func() {
		fmt.Fprintln(out, "east:    has read the account, and stalls; its lease runs out")
		inTheMeantime = errors.Join(expire(ctx, east, cluster), west.deposit(ctx, 50))
		fmt.Fprintln(out, "east:    goes on where it was")
	}
	late := east.deposit(ctx, 10)
	if inTheMeantime != nil {
		return inTheMeantime
	}
	var refused *fence.RefusedError
	if !errors.As(late, &refused) || !errors.Is(late, fence.ErrStale) {
		return fmt.Errorf("east's late write should have been refused as stale: %v", late)
	}
	fmt.Fprintf(out, "east:    is told %v\n", refused)
	a, err := west.read(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "service: has %+v\n", a)
	return nil
}

// serve runs the service until it is stopped.
func serve(ctx context.Context, out io.Writer, address string) (url string, stop func(), err error) {
	db, err := localdb.Open("")
	if err != nil {
		return "", nil, err
	}
	err = db.Exec(ctx, "CREATE TABLE account (balance integer NOT NULL, by text NOT NULL)", "INSERT INTO account VALUES (100, 'nobody')")
	if err != nil {
		return "", nil, errors.Join(err, db.Close())
	}
	handler, err := service(ctx, db.DB, db.Dialect)
	if err != nil {
		return "", nil, errors.Join(err, db.Close())
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", nil, errors.Join(err, db.Close())
	}
	server := &http.Server{Handler: logged(out, handler), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // says that it was closed
	}()
	return "http://" + listener.Addr().String(), func() { server.Close(); <-ended; db.Close() }, nil
}

// logged prints what went over the wire.
func logged(out io.Writer, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &answer{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(seen, r)
		fmt.Fprintf(out, "service: %s %s %s\n", r.Method, r.URL.Path, r.Header.Get("Fence-Stamp"))
		fmt.Fprintf(out, "         %d %s\n", seen.status, http.StatusText(seen.status))
	})
}

type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func newWorker(cluster *localetcd.Cluster, name, url string) (*worker, error) {
	client, err := cluster.Client(0)
	if err != nil {
		return nil, err
	}
	locks, err := etcdfence.New(client, &etcdfence.Options{Prefix: "/etcdfence-example", Owner: name})
	return &worker{name: name, locks: locks, url: url, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, think: func() {}}, err
}

// expire ends the lease of a worker that holds the lock, as the end of its TTL does.
func expire(ctx context.Context, w *worker, cluster *localetcd.Cluster) error {
	leader, err := w.locks.Leader(ctx, "accounts")
	if err != nil {
		return err
	}
	return cluster.ExpireOwner(ctx, leader.Key)
}
