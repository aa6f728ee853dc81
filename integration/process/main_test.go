//go:build unix

// Package process_test stops a whole process with a signal: the pause that no code in
// it can see coming, as of a suspended machine or a debugger.
package process_test

import (
	"os"
	"testing"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// The test binary is the worker too: with this variable in its environment.
const asWorker = "PROCESS_TEST_WORKER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(asWorker); kind != "" {
		os.Exit(work(kind, os.Args[1], os.Args[2]))
	}
	etcdtest.Main(m)
}
