package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/examples/internal/recorded"
)

// The numbers differ from run to run; what they show does not.
func TestWhyKey(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	holds, err := observe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(holds) != 6 {
		t.Fatalf("%d holds", len(holds))
	}
	want := []string{"no: same key", "no: ", "no: ", "yes", "yes", "yes: "}
	for i, f := range judge(holds) {
		if !strings.HasPrefix(f.result, want[i]) {
			t.Errorf("%s %q, want %q; %+v", f.what, f.result, want[i], holds)
		}
	}
	if holds[0].header != holds[0].create {
		t.Errorf("without contention header %d and create revision %d differ", holds[0].header, holds[0].create)
	}
	if holds[2].header <= holds[3].create {
		t.Errorf("hold 3 has header %d, hold 4 create revision %d: nothing is shown", holds[2].header, holds[3].create)
	}
	if holds[1].key != holds[5].key || holds[5].create <= holds[1].create {
		t.Errorf("hold 2 %+v, hold 6 %+v", holds[1], holds[5])
	}
}

// The recorded output has the shape of a fresh one: the same words, other numbers.
func TestRecordedOutput(t *testing.T) {
	out := recorded.Run(t, run)
	file, err := os.ReadFile("output.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := shape(out), shape(file); got != want {
		t.Errorf("the example printed\n%s\nrecorded is\n%s", got, want)
	}
	if !strings.Contains(string(file), "fence: stale") {
		t.Error("the recorded run refuses nobody")
	}
}

// shape leaves numbers, keys and the widths of columns out.
func shape(out []byte) string {
	var words []string
	for _, w := range strings.Fields(string(out)) {
		if strings.ContainsAny(w, "0123456789") {
			w = "N"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}
