package demo

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/timeline"
	"github.com/etcdfence/etcdfence/fence"
)

// The director and its workers talk in JSON values over a worker's standard input and
// output. A job comes first: it holds passwords, which a command line or an
// environment would show to others. After it every value is a leave to go on.

// job is what a worker is told to do.
type job struct {
	Etcd   *clientv3.ConfigSpec
	Prefix string
	Lock   string
	TTL    time.Duration
	Owner  string
	Fence  bool // whether the store compares tokens
	Value  string
	Store  storeJob
}

// proceed lets a worker go on past a place where it waits.
type proceed struct{}

// report is what a worker has done or been told.
type report struct {
	Kind   timeline.Kind // empty for a failure
	Token  fence.Token
	Key    string // of the lock, in etcd
	TTL    time.Duration
	Answer *answer // of the store
	Failed string  // why the worker gave up
}
