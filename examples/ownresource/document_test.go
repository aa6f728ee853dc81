package ownresource_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"github.com/etcdfence/etcdfence/examples/ownresource"
	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// snippet: subject

// subject is what the kit needs to know of the document.
type subject struct {
	*ownresource.Document
	path string
}

const lock = "documents/7"

func (s *subject) Resource() fence.FencedResource[*ownresource.Draft] { return s.Document }
func (s *subject) Lock() string                                       { return lock }

func (s *subject) Write(_ context.Context, draft *ownresource.Draft, value string) error {
	draft.Text = value
	return nil
}

func (s *subject) Read(ctx context.Context) (string, error) {
	draft, err := s.Document.Read(ctx)
	return draft.Text, err
}

// Reopen is a power: with it the kit asks what survives a restart.
func (s *subject) Reopen(context.Context) (err error) {
	if err := s.Document.Close(); err != nil {
		return err
	}
	s.Document, err = ownresource.Open(s.path, lock)
	return err
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	n := 0
	fencetest.Run(t, func(context.Context) (fencetest.Subject[*ownresource.Draft], error) {
		n++ // a fresh file for each case
		path := filepath.Join(dir, fmt.Sprint(n))
		d, err := ownresource.Open(path, lock)
		return &subject{d, path}, err
	})
}

// end snippet

// What the kit cannot know: every accepted change counts as one version.
func TestVersion(t *testing.T) {
	ctx := t.Context()
	d, err := ownresource.Open(filepath.Join(t.TempDir(), "document"), lock)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	token, err := fence.NewToken(lock, 0, 7, "worker")
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("no")
	for i, want := range []error{nil, failed, nil} {
		err := d.Apply(ctx, token.At(int64(i+1)), func(_ context.Context, draft *ownresource.Draft) error {
			draft.Text, draft.Version = fmt.Sprint("edition ", i), 99
			return want
		})
		if !errors.Is(err, want) {
			t.Fatal(err)
		}
	}
	if got, err := d.Read(ctx); err != nil || got != (ownresource.Draft{Text: "edition 2", Version: 2}) {
		t.Fatalf("got %+v, %v", got, err)
	}
}

// A mark that cannot be read is not "no mark": nothing is let in over it.
func TestSpoiltMark(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "document")
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket([]byte("document"))
		if err != nil {
			return err
		}
		return b.Put([]byte("mark"), []byte("spoilt"))
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := ownresource.Open(path, lock)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	token, err := fence.NewToken(lock, 0, 7, "worker")
	if err != nil {
		t.Fatal(err)
	}
	never := func(context.Context, *ownresource.Draft) error { t.Error("the change ran"); return nil }
	if err := d.Apply(ctx, token.At(1), never); err == nil {
		t.Error("a write was accepted over a mark that cannot be read")
	}
	if err := d.Claim(ctx, token); err == nil {
		t.Error("a claim was accepted over a mark that cannot be read")
	}
	if _, err := d.Mark(ctx, lock); err == nil {
		t.Error("the mark was told")
	}
}

func TestOpenRefusesABadLock(t *testing.T) {
	if _, err := ownresource.Open(filepath.Join(t.TempDir(), "document"), ""); !errors.Is(err, fence.ErrBadToken) {
		t.Fatal(err)
	}
}
