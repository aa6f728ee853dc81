// Package restore_test goes through the runbooks of docs/operations.md.
package restore_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lock = "orders/42"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func adapter(t *testing.T, s *etcdtest.Server, epoch int64) *etcdfence.Adapter {
	t.Helper()
	a, err := etcdfence.New(s.NewClient(t), &etcdfence.Options{TTL: 2 * time.Second, Epoch: epoch})
	must(t, err)
	t.Cleanup(func() { _ = a.Close() }) // the lease of some is gone with the history
	return a
}

// write does what a program does all day.
func write(ctx context.Context, a *etcdfence.Adapter, m *fence.Memory, value string) (fence.Token, error) {
	var token fence.Token
	err := etcdfence.Do(ctx, a, lock, m, func(ctx context.Context, w *etcdfence.Bound[*fence.MemoryTx]) error {
		token = w.Hold().Token()
		return w.Apply(ctx, func(_ context.Context, tx *fence.MemoryTx) error { tx.Put("value", value); return nil })
	})
	return token, err
}

// save is "etcdctl snapshot save".
func save(t *testing.T, s *etcdtest.Server) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "snapshot.db")
	file, err := os.Create(path)
	must(t, err)
	defer file.Close()
	stream, err := s.Client().Snapshot(t.Context())
	must(t, err)
	_, err = io.Copy(file, stream)
	must(t, errors.Join(err, stream.Close()))
	return path
}

// restore is "etcdutl snapshot restore", and a start of etcd on the result.
func restore(t *testing.T, s *etcdtest.Server, path string, bump uint64) {
	t.Helper()
	config := s.Etcd().Config()
	s.Stop()
	must(t, os.RemoveAll(s.Dir()))
	var peers []string
	for _, u := range config.AdvertisePeerUrls {
		peers = append(peers, u.String())
	}
	must(t, snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{SnapshotPath: path, Name: config.Name,
		OutputDataDir: s.Dir(), PeerURLs: peers, InitialCluster: config.InitialCluster,
		InitialClusterToken: config.InitialClusterToken, RevisionBump: bump, MarkCompacted: bump > 0}))
	s.Restart(t)
}

// history is some work, a backup, and more work.
func history(t *testing.T) (s *etcdtest.Server, m *fence.Memory, backup string, last fence.Token) {
	t.Helper()
	s = etcdtest.Start(t)
	m, err := fence.NewMemory(lock)
	must(t, err)
	a := adapter(t, s, 0)
	_, err = write(t.Context(), a, m, "before the backup")
	must(t, err)
	backup = save(t, s)
	for range 20 {
		s.Put(t, "other", "work")
	}
	last, err = write(t.Context(), a, m, "after the backup")
	must(t, err)
	return s, m, backup, last
}

func value(t *testing.T, m *fence.Memory) string {
	t.Helper()
	v, _, err := m.Get(t.Context(), "value")
	must(t, err)
	return v
}

// Restored as it is, etcd gives out tokens that the resource has passed: nothing is lost, and
// nothing works, until the epoch is raised.
func TestRestoreNeedsAnEpoch(t *testing.T) {
	s, m, backup, last := history(t)
	restore(t, s, backup, 0)
	_, err := write(t.Context(), adapter(t, s, 0), m, "refused")
	if !errors.Is(err, etcdfence.ErrRolledBack) || value(t, m) != "after the backup" {
		t.Fatalf("%v; the resource has %q", err, value(t, m))
	}
	token, err := write(t.Context(), adapter(t, s, 1), m, "with the next epoch")
	if err != nil || token.Revision() >= last.Revision() || token.Compare(last) <= 0 {
		t.Fatalf("%v after %v: %v", token, last, err)
	}
	if _, err := write(t.Context(), adapter(t, s, 0), m, "left behind"); !errors.Is(err, fence.ErrStale) || value(t, m) != "with the next epoch" {
		t.Fatalf("a program on the old epoch: %v", err)
	}
}

// Restored with a bumped revision, tokens go on rising, and no epoch is needed. Watches of
// the old history are told that it is compacted, and waiters go on.
func TestRestoreWithABumpedRevision(t *testing.T) {
	s, m, backup, last := history(t)
	old := adapter(t, s, 0)
	hold, err := old.Lock(t.Context(), lock)
	must(t, err)
	restore(t, s, backup, 1_000_000_000)
	token, err := write(t.Context(), adapter(t, s, 0), m, "after the restore")
	if err != nil || token.Compare(last) <= 0 || token.Epoch() != 0 || token.Revision() < 1_000_000_000 {
		t.Fatalf("%v after %v: %v", token, last, err)
	}
	err = m.Apply(t.Context(), hold.Stamp(), func(context.Context, *fence.MemoryTx) error { return nil })
	if !errors.Is(err, fence.ErrStale) {
		t.Fatalf("a holder from before the restore: %v", err)
	}
	if _, err := write(t.Context(), old, m, "the old adapter"); err != nil {
		t.Fatalf("an adapter that has lived through it: %v", err)
	}
}
