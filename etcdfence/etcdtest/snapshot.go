package etcdtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"
)

// A Snapshot is a copy of a server's data directory.
type Snapshot struct {
	dir  string
	seat *seat
}

// Snapshot copies the data directory, while the server runs or when it is
// stopped. Nothing is disturbed: connections, leases and leadership stay.
//
// The copy holds everything that was acknowledged before the call, and may hold
// what is written during the call. It is taken in an order that makes it
// consistent: first the database, through a read transaction, then the log of
// which the database is a part.
//
// The files live as long as the test t. Only a server alone can be copied: see
// RollBack.
func (s *Server) Snapshot(t testing.TB) *Snapshot {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustBeAlone(t)
	snap := &Snapshot{dir: t.TempDir(), seat: s.seat}
	var err error
	if s.run != nil {
		err = copyLive(snap.dir, s.seat.dir, s.run.etcd)
	} else {
		err = copyDir(snap.dir, s.seat.dir, nil)
	}
	if err != nil {
		t.Fatalf("etcdtest: snapshot of %s: %v", s.seat.name, err)
	}
	return snap
}

// RollBack stops the server, replaces its data by the snapshot and starts it
// again at the same address: what an operator does who restores a disk from a
// backup. Keys, leases and revisions go back to where they were; the cluster id
// and the member id stay, so that no client can tell. A snapshot can be used
// several times, and only on the server it was taken from.
//
// A single member of several must not be rolled back, because raft relies on
// members that remember: the test fails.
func (s *Server) RollBack(t testing.TB, snap *Snapshot) {
	t.Helper()
	s.mustBeAlone(t)
	if snap.seat != s.seat {
		t.Fatalf("etcdtest: the snapshot is not one of this server")
	}
	s.Stop()
	err := errors.Join(os.RemoveAll(s.seat.dir), copyDir(s.seat.dir, snap.dir, nil))
	if err != nil {
		t.Fatalf("etcdtest: rolling back %s: %v", s.seat.name, err)
	}
	s.Restart(t)
}

func (s *Server) mustBeAlone(t testing.TB) {
	t.Helper()
	if s.members != 1 {
		t.Fatalf("etcdtest: %s is one of %d members: rolling back one of several breaks raft, not only the test", s.seat.name, s.members)
	}
}

// copyLive copies the directory of a running server.
func copyLive(dst, src string, e *embed.Etcd) error {
	db := filepath.Join("member", "snap", "db")
	if err := os.MkdirAll(filepath.Join(dst, filepath.Dir(db)), 0o700); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dst, db))
	if err != nil {
		return err
	}
	snap := e.Server.Backend().Snapshot()
	_, err = snap.WriteTo(f)
	if err = errors.Join(err, snap.Close(), f.Close()); err != nil {
		return fmt.Errorf("copying the database: %w", err)
	}
	return copyDir(dst, src, func(rel string) bool { return rel == db })
}

// copyDir copies a tree of regular files, except what skip names and except
// files that etcd only prepares. Files that vanish meanwhile are old ones that
// the server has just thrown away.
func copyDir(dst, src string, skip func(rel string) bool) error {
	return filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != src {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dst, rel), 0o700)
		case strings.HasSuffix(rel, ".tmp"), skip != nil && skip(rel):
			return nil
		}
		err = copySparse(filepath.Join(dst, rel), path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// copySparse copies a file and leaves holes where it has nothing but zeros:
// etcd allocates 64 MB for a log of a few kilobytes.
func copySparse(dst, src string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(dst)
	if err != nil {
		return err
	}
	size, err := writeSparse(out, in)
	return errors.Join(err, out.Truncate(size), out.Close())
}

// zeros is what a hole reads as.
var zeros [64 << 10]byte

func writeSparse(out *os.File, in io.Reader) (size int64, err error) {
	var buf [len(zeros)]byte
	for {
		n, rerr := io.ReadFull(in, buf[:])
		if !bytes.Equal(buf[:n], zeros[:n]) {
			if _, err := out.WriteAt(buf[:n], size); err != nil {
				return size, err
			}
		}
		size += int64(n)
		switch rerr {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return size, nil
		default:
			return size, rerr
		}
	}
}
