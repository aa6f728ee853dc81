// Package recorded compares what an example prints with the output.txt beside it.
// Run the tests with -record to write it anew.
package recorded

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"testing"
	"time"
)

var record = flag.Bool("record", false, "write output.txt instead of comparing with it")

// Run runs an example and returns what it printed. It fails the test if the example
// does, and ends it after a minute.
func Run(t *testing.T, example func(ctx context.Context, out io.Writer) error) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	if err := example(ctx, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	if *record {
		if err := os.WriteFile("output.txt", out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// Same fails the test unless the output is the recorded one.
func Same(t *testing.T, out []byte) {
	t.Helper()
	want, err := os.ReadFile("output.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out, want) {
		t.Fatalf("the example printed\n%s\nrecorded is\n%s\nrun the test with -record if that is right", out, want)
	}
}
