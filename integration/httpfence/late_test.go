package httpfence_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	_ "modernc.org/sqlite"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/httpfence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// T3 over the wire, with both guards: A's client is cut off past its lease, B takes over and
// writes, and A's late request is refused by the service with 412, with A's typed error and
// nothing changed.
func TestLateRequestOfALostHolder(t *testing.T) {
	const set = "UPDATE account SET value = ?"
	for name, guarded := range map[string]func(*sqlfence.Resource) (httpfence.Guard, http.HandlerFunc){
		"enforced around the handler": func(marks *sqlfence.Resource) (httpfence.Guard, http.HandlerFunc) {
			return httpfence.Enforce(marks), func(w http.ResponseWriter, r *http.Request) {
				tx, err := httpfence.Tx[*sql.Tx](r.Context())
				if err == nil {
					var body []byte
					if body, err = io.ReadAll(r.Body); err == nil {
						_, err = tx.ExecContext(r.Context(), set, string(body))
					}
				}
				if err != nil {
					http.Error(w, err.Error(), http.StatusInternalServerError)
				}
			}
		},
		"handed to the handler's transaction": func(marks *sqlfence.Resource) (httpfence.Guard, http.HandlerFunc) {
			return httpfence.HandOver(lock), func(w http.ResponseWriter, r *http.Request) {
				s, err := fence.StampFrom(r.Context())
				if err == nil {
					err = marks.Apply(r.Context(), s, func(ctx context.Context, tx *sql.Tx) error {
						body, err := io.ReadAll(r.Body)
						if err != nil {
							return err
						}
						_, err = tx.ExecContext(ctx, set, string(body))
						return err
					})
				}
				if err != nil && !httpfence.Answer(w, err) {
					http.Error(w, err.Error(), http.StatusInternalServerError)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "bank.db")+
				"?_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=journal_mode(wal)")
			must(t, err)
			t.Cleanup(func() { must(t, db.Close()) })
			marks, err := sqlfence.New(db, sqlfence.SQLite, &sqlfence.Options{Lock: lock})
			must(t, err)
			must(t, marks.EnsureSchema(ctx))
			_, err = db.ExecContext(ctx, "CREATE TABLE account (value text); INSERT INTO account VALUES ('')")
			must(t, err)
			guard, handler := guarded(marks)
			service := serve(t, guard, handler, nil)

			etcd := etcdtest.Start(t)
			link := etcd.Link(t)
			hold, err := adapter(t, link.NewClient(t)).Lock(ctx, lock)
			must(t, err)
			_, err = service.put(fence.WithStamp(ctx, hold.Stamp()), "v0")
			must(t, err)
			late := fence.WithStamp(ctx, hold.Stamp()) // made before the pause
			link.Cut()
			next, err := adapter(t, etcd.NewClient(t)).Lock(ctx, lock)
			must(t, err)
			_, err = service.put(fence.WithStamp(ctx, next.Stamp()), "v2")
			must(t, err)
			link.Heal()

			_, err = service.put(late, "v1")
			var refused *fence.RefusedError
			if !errors.Is(err, fence.ErrStale) || !errors.As(err, &refused) {
				t.Fatalf("got %v", err)
			}
			if refused.Presented != hold.Token().At(2) || refused.Mark.Token() != next.Token() {
				t.Errorf("presented %v against %v", refused.Presented, refused.Mark)
			}
			var got string
			must(t, db.QueryRowContext(ctx, "SELECT value FROM account").Scan(&got))
			if got != "v2" {
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
	m := newStore(t)
	inside, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	service := serve(t, httpfence.Enforce(m), func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Body") == "5" {
			once.Do(func() { close(inside) })
			<-goOn
		}
		write(w, r)
	}, nil)
	results := make(map[string]error)
	var mu sync.Mutex
	var all sync.WaitGroup
	send := func(revision int64, body string) {
		all.Go(func() {
			err := func() error {
				ctx := fence.WithStamp(t.Context(), stamp(t, revision, 1))
				req, err := http.NewRequestWithContext(ctx, http.MethodPut, service.url, strings.NewReader(body))
				if err != nil {
					return err
				}
				req.Header.Set("X-Body", body)
				resp, err := httpfence.Do(service.client, req)
				if err == nil {
					err = resp.Body.Close()
				}
				return err
			}()
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
}
