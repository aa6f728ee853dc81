package main

import (
	"context"
	"io"
	"testing"

	"go.uber.org/goleak"

	"github.com/etcdfence/etcdfence/examples/internal/recorded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPause(t *testing.T) {
	recorded.Same(t, recorded.Run(t, func(ctx context.Context, out io.Writer) error { return run(ctx, out, "") }))
}
