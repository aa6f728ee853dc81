package timeline

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("not as in %s; run the test with -update if that is right:\n%s", file, got)
	}
}

func text(s Story, colour bool) []byte {
	var out bytes.Buffer
	w := NewText(&out, colour)
	w.Begin(s)
	for _, act := range s.Acts {
		w.Act(act)
		for _, e := range act.Events {
			w.Event(e)
		}
		w.End(act)
	}
	w.Conclude(s)
	return out.Bytes()
}

func TestText(t *testing.T) {
	plain := text(sample(t, 4), false)
	golden(t, "plain.txt", plain)
	for _, r := range string(plain) {
		if r != '\n' && (r < ' ' || r > '~') {
			t.Fatalf("plain text has %q", r)
		}
	}
	golden(t, "colour.txt", text(sample(t, 4), true))
	s := sample(t, math.MaxInt64-20)
	s.Etcd.Embedded = false
	golden(t, "long.txt", text(s, false))
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	if err := JSON(&out, sample(t, 4)); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out.Bytes()) {
		t.Fatal("not JSON")
	}
	golden(t, "story.json", out.Bytes())
}

func TestSVG(t *testing.T) {
	failed := sample(t, 4)
	failed.Acts[0].Holds = "v1"
	failed.Acts[0].Events[12].Err = nil
	failed.Acts[1].Holds = "v2"
	long := sample(t, math.MaxInt64-20)
	long.Store = `"<&>"`
	for name, s := range map[string]Story{"story.svg": sample(t, 4), "long.svg": long, "failed.svg": failed, "nothing.svg": {}} {
		var out bytes.Buffer
		if err := SVG(&out, s); err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(bytes.NewReader(out.Bytes())); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		golden(t, name, out.Bytes())
	}
}

// Whoever reads without colours must be able to tell the answers apart.
func TestEveryColourHasAWord(t *testing.T) {
	lines := strings.Split(string(text(sample(t, 4), true)), "\n")
	for _, line := range lines {
		if strings.Contains(line, "\x1b[1;31m") != strings.Contains(line, "REFUSED") {
			t.Errorf("red and REFUSED do not go together: %q", line)
		}
	}
}

type fullDisk struct{ left int }

func (w *fullDisk) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errors.New("full")
	}
	return len(b), nil
}

func TestFirstErrorStays(t *testing.T) {
	w := NewText(&fullDisk{left: 300}, false)
	w.Begin(Story{})
	if w.Err() != nil {
		t.Fatal(w.Err())
	}
	w.Act(Act{})
	w.Conclude(Story{})
	if w.Err() == nil {
		t.Fatal("no error of a disk that is full")
	}
}
