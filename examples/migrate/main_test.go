package main

import (
	"bytes"
	"testing"

	"go.uber.org/goleak"

	"github.com/etcdfence/etcdfence/examples/internal/recorded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMigrate(t *testing.T) {
	out := recorded.Run(t, run)
	// On a machine that is slow enough the adapter learns of the loss before the write,
	// which is then not sent at all.
	recorded.Same(t, bytes.ReplaceAll(out, []byte("write: lost "), []byte("write: stale")))
}
