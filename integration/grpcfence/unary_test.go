package grpcfence_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	_ "modernc.org/sqlite"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/grpcfence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// bank is a row in a database, served by a handler that is the change of the fence.
type bank struct {
	db    *sql.DB
	marks *sqlfence.Resource
}

func newBank(t *testing.T) *bank {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "bank.db")+
		"?_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=journal_mode(wal)")
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	marks, err := sqlfence.New(db, sqlfence.SQLite, &sqlfence.Options{Lock: lock})
	must(t, err)
	must(t, marks.EnsureSchema(t.Context()))
	_, err = db.ExecContext(t.Context(), "CREATE TABLE account (id integer PRIMARY KEY, value text); INSERT INTO account VALUES (1, '')")
	must(t, err)
	return &bank{db, marks}
}

func (b *bank) value(t *testing.T) (v string) {
	t.Helper()
	must(t, b.db.QueryRowContext(t.Context(), "SELECT value FROM account").Scan(&v))
	return v
}

func set(ctx context.Context, tx *sql.Tx, body string) (string, error) {
	_, err := tx.ExecContext(ctx, "UPDATE account SET value = ?", body)
	return "wrote " + body, err
}

// T3 over the wire, with both guards: A's client is cut off past its lease, B takes over and
// writes, and A's late request is refused by the service, with A's typed error and nothing
// changed.
func TestLateRequestOfALostHolder(t *testing.T) {
	for name, guarded := range map[string]func(b *bank) (grpcfence.Guard, *service){
		"enforced around the handler": func(b *bank) (grpcfence.Guard, *service) {
			return grpcfence.Enforce(b.marks), &service{unary: func(ctx context.Context, body string) (string, error) {
				tx, err := grpcfence.Tx[*sql.Tx](ctx)
				if err != nil {
					return "", err
				}
				return set(ctx, tx, body)
			}}
		},
		"handed to the handler's transaction": func(b *bank) (grpcfence.Guard, *service) {
			return grpcfence.HandOver(lock), &service{unary: func(ctx context.Context, body string) (out string, err error) {
				s, err := fence.StampFrom(ctx)
				if err != nil {
					return "", err
				}
				err = b.marks.Apply(ctx, s, func(ctx context.Context, tx *sql.Tx) (err error) {
					out, err = set(ctx, tx, body)
					return err
				})
				return out, err
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			etcd := etcdtest.Start(t)
			link := etcd.Link(t)
			b := newBank(t)
			guard, s := guarded(b)
			client := serve(t, guard, nil, s)

			a := adapter(t, link.NewClient(t))
			hold, err := a.Lock(ctx, lock)
			must(t, err)
			if out, err := call(fence.WithStamp(ctx, hold.Stamp()), client, "v0"); err != nil || out != "wrote v0" {
				t.Fatalf("%q, %v", out, err)
			}
			late := fence.WithStamp(ctx, hold.Stamp()) // made before the pause
			link.Cut()
			next, err := adapter(t, etcd.NewClient(t)).Lock(ctx, lock)
			must(t, err)
			_, err = call(fence.WithStamp(ctx, next.Stamp()), client, "v2")
			must(t, err)
			link.Heal()

			_, err = call(late, client, "v1")
			var refused *fence.RefusedError
			if !errors.Is(err, fence.ErrStale) || !errors.As(err, &refused) || status.Code(err) != codes.FailedPrecondition {
				t.Fatalf("got %v", err)
			}
			if refused.Presented != hold.Token().At(2) || refused.Mark.Token() != next.Token() {
				t.Errorf("presented %v against %v", refused.Presented, refused.Mark)
			}
			if got := b.value(t); got != "v2" {
				t.Errorf("the store has %q", got)
			}
		})
	}
}

func adapter(t *testing.T, client *clientv3.Client) *etcdfence.Adapter {
	t.Helper()
	a, err := etcdfence.New(client, &etcdfence.Options{TTL: 2 * time.Second})
	must(t, err)
	t.Cleanup(func() { _ = a.Close() }) // the link of some is cut
	return a
}

// Generation 5 passes, stalls, 7 passes and writes, and 5 must not write over it. Whichever
// of the two the store lets in first, the end is 7's.
func TestStalledHandlerDoesNotWriteLate(t *testing.T) {
	m, s := newStore(t)
	inside, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	write := s.unary
	s.unary = func(ctx context.Context, body string) (string, error) {
		if body == "5" {
			once.Do(func() { close(inside) })
			<-goOn
		}
		return write(ctx, body)
	}
	client := serve(t, grpcfence.Enforce(m), nil, s)
	results := make(map[string]error)
	var mu sync.Mutex
	var all sync.WaitGroup
	send := func(revision int64, body string) {
		all.Go(func() {
			_, err := call(fence.WithStamp(t.Context(), stamp(t, revision, 1)), client, body)
			mu.Lock()
			defer mu.Unlock()
			results[body] = err
		})
	}
	send(5, "5")
	<-inside
	send(7, "7")
	close(goOn)
	all.Wait()
	if results["7"] != nil || value(t, m) != "7" {
		t.Fatalf("the value is %q; %v", value(t, m), results)
	}
	if err := results["5"]; err != nil && !errors.Is(err, fence.ErrStale) {
		t.Error(err)
	}
	// And late: refused before the handler runs.
	s.unary = func(context.Context, string) (string, error) { t.Error("a stale request was handled"); return "", nil }
	if _, err := call(fence.WithStamp(t.Context(), stamp(t, 5, 2)), client, "5"); !errors.Is(err, fence.ErrStale) {
		t.Error(err)
	}
}

// What a server answers when there is nothing to compare.
func TestCallsWithoutAGoodStamp(t *testing.T) {
	m, s := newStore(t)
	client := serve(t, grpcfence.Enforce(m), nil, s)
	other, err := fence.NewToken("another", 0, 9, "holder")
	must(t, err)
	for name, c := range map[string]struct {
		ctx  context.Context
		want error
		code codes.Code
	}{
		"none":         {t.Context(), nil, codes.InvalidArgument},
		"another lock": {fence.WithStamp(t.Context(), other.At(1)), fence.ErrWrongLock, codes.FailedPrecondition},
		"bad id":       {fence.WithOperation(fence.WithStamp(t.Context(), stamp(t, 5, 1)), ""), fence.ErrBadOperation, codes.Unknown},
	} {
		if _, err := call(c.ctx, client, "x"); c.want != nil && !errors.Is(err, c.want) || status.Code(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := value(t, m); got != "" {
		t.Errorf("the store has %q", got)
	}
	if _, err := call(fence.WithStamp(t.Context(), other.At(1)), serve(t, grpcfence.HandOver(lock), nil, s), "x"); !errors.Is(err, fence.ErrWrongLock) {
		t.Error(err)
	}
	if _, err := call(fence.WithStamp(t.Context(), other.At(1)), serve(t, grpcfence.HandOver(""), nil, s), "x"); err == nil {
		t.Error("a handler found a transaction that is not there")
	}
	free := &grpcfence.ServerOptions{Guarded: func(method string) bool { return method != "/grpc.testing.TestService/UnaryCall" }}
	s.unary = func(context.Context, string) (string, error) { return "read", nil }
	if out, err := call(t.Context(), serve(t, grpcfence.Enforce(m), free, s), ""); err != nil || out != "read" {
		t.Errorf("a method that needs no stamp: %q, %v", out, err)
	}
}

// An error or a panic of the handler leaves data and mark, and is not taken for an answer of
// the fence.
func TestHandlerFails(t *testing.T) {
	m, s := newStore(t)
	write := s.unary
	client := serve(t, grpcfence.Enforce(m), nil, s)
	s.unary = func(ctx context.Context, body string) (string, error) {
		_, err := write(ctx, body)
		return "", errors.Join(err, status.Error(codes.NotFound, "no such account"))
	}
	_, err := call(fence.WithStamp(t.Context(), stamp(t, 5, 1)), client, "x")
	if fence.SafeToRetry(err) || status.Code(err) != codes.NotFound || value(t, m) != "" {
		t.Fatalf("%v; the store has %q", err, value(t, m))
	}
	s.unary = write
	if _, err := call(fence.WithStamp(t.Context(), stamp(t, 5, 1)), client, "y"); err != nil {
		t.Fatalf("the stamp was consumed: %v", err)
	}
}

// A repeat with the same operation id is answered with what was answered then, by a later
// hold too, and the fence comes first.
func TestDuplicateGetsTheRecordedAnswer(t *testing.T) {
	m, s := newStore(t)
	client := serve(t, grpcfence.Enforce(m), nil, s)
	pay := func(revision, sequence int64, body string) (string, error) {
		return call(fence.WithOperation(fence.WithStamp(t.Context(), stamp(t, revision, sequence)), "pay 17"), client, body)
	}
	for i, body := range []string{"first", "again"} {
		if out, err := pay(5, int64(i+1), body); err != nil || out != "wrote first" {
			t.Fatalf("%q, %v", out, err)
		}
	}
	if out, err := pay(7, 1, "by another"); err != nil || out != "wrote first" || value(t, m) != "first" {
		t.Fatalf("%q, %v; the store has %q", out, err, value(t, m))
	}
	if _, err := call(fence.WithStamp(t.Context(), stamp(t, 7, 2)), client, "newer"); err != nil {
		t.Fatal(err)
	}
	if _, err := pay(5, 9, "late"); !errors.Is(err, fence.ErrStale) {
		t.Fatalf("a known id lets an old stamp pass: %v", err)
	}
	// An answer that somebody else has recorded stays an error with that answer in it.
	op := fence.WithOperation(t.Context(), "raw")
	must(t, m.Apply(op, stamp(t, 7, 3), func(context.Context, *fence.MemoryTx) error {
		fence.OperationFrom(op).SetResult([]byte("\xff"))
		return nil
	}))
	_, err := call(fence.WithOperation(fence.WithStamp(t.Context(), stamp(t, 7, 4)), "raw"), client, "x")
	var done *fence.DuplicateError
	if !errors.As(err, &done) || string(done.Result) != "\xff" || status.Code(err) != codes.AlreadyExists {
		t.Fatal(err)
	}
}
