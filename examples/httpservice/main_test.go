package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"testing"

	"go.uber.org/goleak"

	"github.com/etcdfence/etcdfence/examples/internal/recorded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The id of a lease is another one each time.
var lease = regexp.MustCompile(`o=[0-9a-f]+%2F`)

func TestService(t *testing.T) {
	recorded.Same(t, recorded.Run(t, func(ctx context.Context, out io.Writer) error {
		var printed bytes.Buffer
		err := run(ctx, &printed)
		_, werr := out.Write(lease.ReplaceAll(printed.Bytes(), []byte("o=694d81%2F")))
		return errors.Join(err, werr)
	}))
}
