//go:build unix

package process_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/fence"
)

// Kinds of worker, and how one ends.
const (
	fenced   = "fenced"
	unfenced = "unfenced" // the contrast: it has the lock, and writes as people do

	exitWritten = 0
	exitFailed  = 1
	exitStale   = 3
)

// work is the worker: it takes the lock, writes, says so, and writes again when it is
// told to. In between it may have been stopped for any time.
func work(kind, endpoint, file string) int {
	err := serve(kind, endpoint, file, os.Stdin, os.Stdout)
	switch {
	case err == nil:
		return exitWritten
	case errors.Is(err, fence.ErrStale) && !errors.Is(err, etcdfence.ErrRolledBack):
		fmt.Fprintln(os.Stderr, err)
		return exitStale
	default:
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
}

func serve(kind, endpoint, file string, told io.Reader, say io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	locks, err := etcdfence.New(client, &etcdfence.Options{TTL: 2 * time.Second, Owner: "A"})
	if err != nil {
		return err
	}
	defer locks.Close()
	accounts, err := openAccounts(ctx, file)
	if err != nil {
		return err
	}
	defer accounts.db.Close()

	hold, err := locks.Lock(ctx, lock)
	if err != nil {
		return err
	}
	write := func(value string) error {
		_, err := accounts.db.ExecContext(ctx, setValue, value)
		return err
	}
	if kind == fenced {
		w, err := etcdfence.Bind(ctx, hold, accounts.marks)
		if err != nil {
			return err
		}
		write = func(value string) error { return w.Apply(ctx, set(value)) }
	}
	if err := write("A"); err != nil {
		return err
	}
	token, err := hold.Token().MarshalText()
	if err != nil {
		return err
	}
	fmt.Fprintln(say, hold.Key(), string(token))

	if _, err := bufio.NewReader(told).ReadString('\n'); err != nil {
		return err
	}
	err = write("late A")
	if kind == fenced { // the release comes too late as well, and must touch nothing
		if rerr := hold.Release(ctx); !errors.Is(rerr, etcdfence.ErrNotHeld) {
			return fmt.Errorf("the late release: %v; the late write: %v", rerr, err)
		}
	}
	return err
}

const setValue = "UPDATE accounts SET value = ? WHERE id = 1"

// set is the change that both processes make, inside the fenced transaction.
func set(value string) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, setValue, value)
		return err
	}
}
