//go:build unix

package process_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// T3b (etcd 11457, 10811): the holder is a process that is stopped past its TTL. When
// it goes on it knows nothing, and its next request goes to the resource.
func TestT3bFrozenProcess(t *testing.T) {
	for _, test := range []struct {
		name   string
		writes []string // of B, before A wakes up
		want   string
	}{
		{"B has written", []string{"B"}, "B"},
		{"B has only claimed (T4, slatedb 352)", nil, "A"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := takeOver(t, fenced)
			w, err := etcdfence.Bind(s.ctx, s.hold, s.accounts.marks)
			if err != nil {
				t.Fatal(err)
			}
			for _, value := range test.writes {
				if err := w.Apply(s.ctx, set(value)); err != nil {
					t.Fatal(err)
				}
			}
			mark, err := s.accounts.marks.Mark(s.ctx, lock)
			if err != nil || mark.Token() != s.hold.Token() {
				t.Fatalf("the mark is %v, %v", mark, err)
			}
			version := s.dataVersion(t)
			queue := s.server.Queue(t, lockKeys)

			s.child.write(t)
			s.child.signal(t, syscall.SIGCONT)
			if code := s.child.exitCode(t); code != exitStale {
				t.Fatalf("A's exit code is %d, want %d for stale\n%s", code, exitStale, &s.child.stderr)
			}
			presented, said := s.child.token.At(2).String(), s.child.stderr.String()
			if !strings.Contains(said, presented) || !strings.Contains(said, mark.String()) {
				t.Errorf("A does not name %s and %v: %s", presented, mark, said)
			}

			if got := s.value(t); got != test.want {
				t.Errorf("the value is %q", got)
			}
			if after, err := s.accounts.marks.Mark(s.ctx, lock); err != nil || after != mark {
				t.Errorf("the mark went from %v to %v, %v", mark, after, err)
			}
			if after := s.dataVersion(t); after != version {
				t.Errorf("A has changed the file: version %d became %d", version, after)
			}
			if after := s.server.Queue(t, lockKeys); len(after) != 1 || after[0] != queue[0] || after[0] != s.hold.Key() {
				t.Errorf("the queue went from %q to %q", queue, after)
			}
			if err := s.hold.Verify(s.ctx); err != nil {
				t.Errorf("B no longer holds: %v", err)
			}
		})
	}
}

// The contrast: the same pause, the same lock, a resource that does not know of it.
// Both writers are told "ok", and the newer value is gone.
func TestFrozenProcessWithoutAFence(t *testing.T) {
	s := takeOver(t, unfenced)
	if _, err := s.accounts.db.ExecContext(s.ctx, setValue, "B"); err != nil {
		t.Fatal(err)
	}
	s.child.write(t)
	s.child.signal(t, syscall.SIGCONT)
	if code := s.child.exitCode(t); code != exitWritten {
		t.Fatalf("A's exit code is %d\n%s", code, &s.child.stderr)
	}
	if got := s.value(t); got != "late A" {
		t.Errorf("the value is %q", got)
	}
}

// lockKeys is where the keys of the lock are.
const lockKeys = "account%2F1/"

// scene is what there is once A is stopped and B, in this process, holds the lock.
type scene struct {
	ctx      context.Context
	server   *etcdtest.Server
	accounts *accounts
	watcher  *sql.Conn // its data version changes if anybody else commits
	child    *child
	hold     *etcdfence.Hold
}

func takeOver(t *testing.T, kind string) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	s := &scene{ctx: ctx, server: etcdtest.Start(t)}
	file := filepath.Join(t.TempDir(), "accounts.db")
	var err error
	if s.accounts, err = openAccounts(ctx, file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.accounts.db.Close() })
	if s.watcher, err = s.accounts.db.Conn(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.watcher.Close() })
	locks, err := etcdfence.New(s.server.NewClient(t), &etcdfence.Options{Owner: "B"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := locks.Close(); err != nil {
			t.Error(err)
		}
	})

	s.child = startChild(t, kind, s.server.Endpoint(), file)
	if got := s.value(t); got != "A" {
		t.Fatalf("A has written %q", got)
	}
	s.child.signal(t, syscall.SIGSTOP)
	s.server.WaitGone(t, s.child.key) // etcd has given up on A
	if s.hold, err = locks.Lock(ctx, lock); err != nil {
		t.Fatal(err)
	}
	if s.hold.Token().Compare(s.child.token) <= 0 {
		t.Fatalf("B's token %v is not newer than A's %v", s.hold.Token(), s.child.token)
	}
	return s
}

func (s *scene) value(t *testing.T) (value string) {
	t.Helper()
	if err := s.accounts.db.QueryRowContext(s.ctx, "SELECT value FROM accounts WHERE id = 1").Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func (s *scene) dataVersion(t *testing.T) (version int64) {
	t.Helper()
	if err := s.watcher.QueryRowContext(s.ctx, "PRAGMA data_version").Scan(&version); err != nil {
		t.Fatal(err)
	}
	return version
}
