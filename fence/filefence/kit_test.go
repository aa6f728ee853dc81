package filefence

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
)

// subject is a file in a directory of its own. Nothing serves it that could be killed: for
// that see crash_test.go.
type subject struct {
	dir  string
	file *Resource
	wrap func(*Resource) fence.FencedResource[*Tx] // for mutants
}

func kitOn(wrap func(*Resource) fence.FencedResource[*Tx]) fencetest.Factory[*Tx] {
	return func(ctx context.Context) (fencetest.Subject[*Tx], error) {
		dir, err := os.MkdirTemp("", "filefence")
		if err != nil {
			return nil, err
		}
		s := &subject{dir: dir, wrap: wrap}
		return s, s.Reopen(ctx)
	}
}

func honest(r *Resource) fence.FencedResource[*Tx] { return r }

func (s *subject) another(opts *Options) (*Resource, error) {
	return Open(filepath.Join(s.dir, "file"), s.Lock(), opts)
}

func (s *subject) Reopen(context.Context) (err error) {
	s.file, err = s.another(nil)
	return err
}

func (s *subject) Share(context.Context) (fence.FencedResource[*Tx], error) {
	r, err := s.another(nil)
	return s.wrap(r), err
}

func (s *subject) AnyOrder(context.Context) (fence.FencedResource[*Tx], error) {
	return s.another(&Options{AnyOrder: true})
}

func (s *subject) Write(_ context.Context, tx *Tx, value string) error {
	tx.SetBody([]byte(value))
	return nil
}

func (s *subject) Read(ctx context.Context) (string, error) {
	body, err := s.file.Body(ctx)
	return string(body), err
}

func (s *subject) Resource() fence.FencedResource[*Tx] { return s.wrap(s.file) }
func (s *subject) Lock() string                        { return lock }
func (s *subject) Operations()                         {}
func (s *subject) Close() error                        { return os.RemoveAll(s.dir) }

func TestKit(t *testing.T) { fencetest.Run(t, kitOn(honest)) }

// The mistake that the comparison under the lock is there against.
func TestKitFailsReadThenRename(t *testing.T) {
	wrap := func(r *Resource) fence.FencedResource[*Tx] { return &readThenRename{r} }
	found := 0
	if joined, ok := fencetest.Check(t.Context(), kitOn(wrap)).(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if v := (*fencetest.Violation)(nil); errors.As(e, &v) && (v.Rule == "R1" || v.Rule == "R7") {
				t.Logf("found by %s/%s: %s", v.Rule, v.Case, v.Detail)
				found++
			}
		}
	}
	if found == 0 {
		t.Fatal("the kit did not notice")
	}
}

// readThenRename judges what it has read, and renames without another look.
type readThenRename struct{ *Resource }

func (r *readThenRename) Apply(ctx context.Context, s fence.Stamp, change func(context.Context, *Tx) error) error {
	edit, err := r.rules.Apply(ctx, s, func(ctx context.Context, body []byte, exists bool) ([]byte, error) {
		tx := &Tx{body: body, exists: exists}
		err := change(ctx, tx)
		return tx.body, err
	})
	if err != nil {
		return err
	}
	found, err := r.read()
	if err != nil {
		return err
	}
	next, err := edit(found)
	if err != nil {
		return err
	}
	data, err := next.Encode()
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(r.path), "new")
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(data); err != nil {
		return err
	}
	return os.Rename(file.Name(), r.path)
}

// writeShuffled presents stamps in its own order, each once it reads a line, and says which
// were accepted.
func writeShuffled(path string, _ []string) error {
	r, err := Open(path, lock, &Options{Attempts: 1000})
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var revision, sequence int64
		if _, err := fmt.Sscan(lines.Text(), &revision, &sequence); err != nil {
			return err
		}
		token, err := fence.NewToken(lock, 0, revision, "holder")
		if err != nil {
			return err
		}
		err = r.Apply(context.Background(), token.At(sequence), func(_ context.Context, tx *Tx) error {
			tx.SetBody(fmt.Appendf(tx.Body(), "%d %d\n", revision, sequence))
			return nil
		})
		switch {
		case err == nil:
			fmt.Println("accepted", revision, sequence)
		case !errors.Is(err, fence.ErrStale) && !errors.Is(err, fence.ErrReplayed):
			return err
		}
	}
	return lines.Err()
}

// T12: processes present the same stamps in different orders. The file has in it what was
// accepted, in the order in which it was: strictly rising, and nothing else.
func TestT12Processes(t *testing.T) {
	const processes, generations, sequences = 4, 12, 4
	path := newFile(t)
	var stamps []string
	for revision := range generations {
		for sequence := range sequences {
			stamps = append(stamps, fmt.Sprintln(revision+1, sequence+1))
		}
	}
	var outs [processes]bytes.Buffer
	var writers []*exec.Cmd
	for i := range processes {
		// Out of order within a window that moves up, or most would be stale.
		order := slices.Clone(stamps)
		for at := 0; at+8 <= len(order); at += 4 {
			part := order[at : at+8]
			rand.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		}
		cmd := child(t, "writer", path)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(strings.Join(order, "")), &outs[i], os.Stderr
		must(t, cmd.Start())
		writers = append(writers, cmd)
	}
	told := map[string]bool{}
	for i, cmd := range writers {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(outs[i].String()) {
			told[strings.TrimPrefix(line, "accepted ")] = true
		}
	}
	body, err := open(t, path, nil).Body(t.Context())
	must(t, err)
	var last fence.Stamp
	lines := 0
	for line := range strings.Lines(string(body)) {
		var revision, sequence int64
		if _, err := fmt.Sscan(line, &revision, &sequence); err != nil {
			t.Fatal(err)
		}
		s := at(t, revision, sequence)
		if s.Compare(last) <= 0 || !told[line] {
			t.Errorf("%v came after %v; told: %v", s, last, told[line])
		}
		last = s
		lines++
	}
	if lines != len(told) || lines == 0 {
		t.Errorf("%d were accepted, and %d are in the file", len(told), lines)
	}
	has(t, path, last, string(body))
	t.Logf("%d of %d stamps were accepted", lines, processes*len(stamps))
}
