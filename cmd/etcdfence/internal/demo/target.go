package demo

import (
	"context"
	"fmt"

	"github.com/etcdfence/etcdfence/etcdfence"
)

// writer puts the worker's value into the store.
type writer func(ctx context.Context, value string) error

// target is the store as a worker sees it.
type target interface {
	// fenced claims the store for the hold. What it returns presents a stamp with
	// each write.
	fenced(ctx context.Context, hold *etcdfence.Hold) (writer, error)

	// plain writes for whoever calls.
	plain(ctx context.Context, value string) error

	Close() error
}

// storeJob tells a worker how to reach the store.
type storeJob struct {
	Kind  string // as in --store
	DSN   string
	Table string // what the names of the tables begin with
	Lock  string
}

func openTarget(j storeJob) (target, error) {
	switch j.Kind {
	case kindMemory:
		return dialMemory()
	case kindSQLite, kindPostgres:
		return openDatabase(j)
	}
	return nil, fmt.Errorf("unknown store %q", j.Kind)
}
