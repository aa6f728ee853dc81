package acid

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/httpfence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

const lock = "orders/42"

func options() Options {
	return Options{Target: "a test", Lock: lock, From: 1, Rounds: 20, Timeout: 20 * time.Second}
}

func run(t *testing.T, b Boundary) *Report {
	t.Helper()
	defer func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	r, err := Run(t.Context(), b, options())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func broken(r *Report) (titles []string) {
	for _, result := range r.Results {
		if result.Verdict == Broken {
			titles = append(titles, result.Title)
		}
	}
	return titles
}

// service is a boundary over HTTP that may lie.
type service struct {
	mu    sync.Mutex
	mark  fence.Stamp
	value string

	judge  func(mark, s fence.Stamp) error // nil is accepted
	apart  bool                            // compares and writes in two steps
	none   bool                            // lets requests without a token pass
	status int                             // of a refusal
	spoils bool                            // writes what it refuses
	forgot func(*service)                  // after each write
}

func (l *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		l.mu.Lock()
		defer l.mu.Unlock()
		fmt.Fprintf(w, "{\"value\": %q}", l.value)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	var s fence.Stamp
	text := r.Header.Get("Fence-Stamp")
	if err := s.UnmarshalText([]byte(text)); err != nil && (text != "" || !l.none) {
		http.Error(w, err.Error(), http.StatusPreconditionRequired)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err = nil
	if !s.IsZero() {
		err = l.judge(l.mark, s)
	}
	if err != nil {
		if l.spoils {
			l.value = string(body)
		}
		http.Error(w, err.Error(), l.status)
		return
	}
	if l.apart {
		l.mu.Unlock()
		time.Sleep(time.Millisecond) //nolint:forbidigo // the gap is the lie
		l.mu.Lock()
	}
	l.value = string(body)
	if !s.IsZero() {
		l.mark = s
	}
	if l.forgot != nil {
		l.forgot(l)
	}
}

func serve(t *testing.T, lie func(*service)) Boundary {
	t.Helper()
	l := &service{judge: func(mark, s fence.Stamp) error { return fence.Judge(lock, mark, s) }, status: http.StatusPreconditionFailed}
	lie(l)
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	b, err := NewHTTP(server.URL, HTTPOptions{Method: "PUT", Headers: []string{"Fence-Stamp: {{.Stamp}}"}, Body: "{{.Value}}", Read: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var errOld = errors.New("stale")

// unless is a rule of one's own making.
func unless(accept func(mark, s fence.Stamp) bool) func(mark, s fence.Stamp) error {
	return func(mark, s fence.Stamp) error {
		if mark.IsZero() || accept(mark, s) {
			return nil
		}
		return errOld
	}
}

// Each liar of the conformance kit, served over HTTP, is caught, by the question that is
// about it; an honest service is not.
func TestLiarsOverHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		lie  func(*service)
		want string
	}{
		"honest": {func(*service) {}, ""},
		"accepts everything": {func(l *service) { l.judge = func(_, _ fence.Stamp) error { return nil } },
			"an older generation is refused"},
		"refuses equal only": {func(l *service) { l.judge = unless(func(m, s fence.Stamp) bool { return m != s }) },
			"an older generation is refused"},
		"accepts equal": {func(l *service) { l.judge = unless(func(m, s fence.Stamp) bool { return s.Compare(m) >= 0 }) },
			"an equal stamp is refused"},
		"looks at the token only": {func(l *service) {
			l.judge = unless(func(m, s fence.Stamp) bool { return s.Token().Compare(m.Token()) >= 0 })
		},
			"an earlier sequence of the same hold is refused"},
		"compares the sequence first": {func(l *service) {
			l.judge = unless(func(m, s fence.Stamp) bool {
				return s.Sequence() > m.Sequence() || s.Sequence() == m.Sequence() && s.Token().Compare(m.Token()) > 0
			})
		}, "an older generation with a high sequence is refused"},
		"ignores the owner": {func(l *service) { l.judge = unless(func(m, s fence.Stamp) bool { return s.Compare(m) > 0 }) },
			"another owner of the same revision is refused"},
		"compares as float64": {func(l *service) {
			honest := l.judge
			l.judge = func(m, s fence.Stamp) error {
				if a, b := float64(m.Token().Revision()), float64(s.Token().Revision()); a != b {
					return honest(m, s)
				}
				if s.Token().Owner() == m.Token().Owner() && s.Sequence() > m.Sequence() {
					return nil
				}
				return errOld
			}
		}, "numbers beyond 2^53 are compared exactly"},
		"compares as text": {func(l *service) {
			l.judge = unless(func(m, s fence.Stamp) bool { return fmt.Sprint(s) > fmt.Sprint(m) })
		}, "numbers of different lengths are compared as numbers"},
		"compares, then writes": {func(l *service) { l.apart = true }, "shuffled stamps at once: the newest wins"},
		"forgets": {func(l *service) { l.forgot = func(l *service) { l.mark = fence.Stamp{} } },
			"an older generation is refused"},
		"lets requests without a token pass": {func(l *service) { l.none = true }, "a write without a token is refused"},
		"answers 500":                        {func(l *service) { l.status = http.StatusInternalServerError }, "a refusal is told from a failure"},
		"answers 200":                        {func(l *service) { l.status = http.StatusOK }, "an older generation is refused"},
		"writes what it refuses":             {func(l *service) { l.spoils = true }, "an older generation is refused"},
		"accepts nothing":                    {func(l *service) { l.judge = func(_, _ fence.Stamp) error { return errOld } }, "a first write is accepted"},
		"accepts one write of each hold": {func(l *service) {
			l.judge = unless(func(m, s fence.Stamp) bool { return s.Token().Compare(m.Token()) > 0 })
		},
			"a later write of one hold is accepted"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, serve(t, c.lie))
			got := broken(r)
			if c.want == "" && (len(got) > 0 || r.Count(Holds) != len(tests)) || c.want != "" && !slices.Contains(got, c.want) {
				t.Errorf("broken: %q, want %q", got, c.want)
			}
		})
	}
}

// The same over SQL: statements that people write.
func TestLiarsOverSQL(t *testing.T) {
	const set = "UPDATE jobs SET value = :value, rev = :revision, seq = :sequence, epoch = :epoch, owner = :owner WHERE id = 1 AND "
	for name, c := range map[string]struct{ statement, want string }{
		"honest": {set + "((epoch, rev) < (:epoch, :revision) OR (epoch, rev, owner) = (:epoch, :revision, :owner) AND seq < :sequence)", ""},
		"unconditional": {"UPDATE jobs SET value = :value, rev = :revision WHERE id = 1",
			"an older generation is refused"},
		"not equal":      {set + "(rev <> :revision OR seq <> :sequence)", "an older generation is refused"},
		"not older":      {set + "(epoch, rev, seq) <= (:epoch, :revision, :sequence)", "an equal stamp is refused"},
		"revision alone": {set + "rev <= :revision", "an earlier sequence of the same hold is refused"},
		"as text":        {set + "CAST(rev AS text) || ' ' || seq < CAST(:revision AS text) || ' ' || :sequence", "numbers of different lengths are compared as numbers"},
		"as doubles":     {set + "(CAST(rev AS real) < CAST(:revision AS real) OR CAST(rev AS real) = CAST(:revision AS real) AND seq < :sequence)", "numbers beyond 2^53 are compared exactly"},
		"owner ignored":  {set + "(epoch, rev, seq) < (:epoch, :revision, :sequence)", "another owner of the same revision is refused"},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "test.db")+"?_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=journal_mode(wal)")
			if err != nil {
				t.Fatal(err)
			}
			_, err = db.ExecContext(t.Context(), "CREATE TABLE jobs (id integer PRIMARY KEY, value text, epoch integer, rev integer, seq integer, owner text);"+
				"INSERT INTO jobs VALUES (1, '', 0, 0, 0, '')")
			if err != nil {
				t.Fatal(err)
			}
			b, err := NewSQL(db, sqlfence.SQLite, c.statement, "SELECT value FROM jobs WHERE id = 1")
			if err != nil {
				t.Fatal(err)
			}
			r := run(t, b)
			got := broken(r)
			if c.want == "" && len(got) > 0 || c.want != "" && !slices.Contains(got, c.want) {
				t.Errorf("broken: %q, want %q", got, c.want)
			}
		})
	}
}

// httpfence itself passes, in both forms.
func TestHTTPFencePasses(t *testing.T) {
	for name, guarded := range map[string]func(m *fence.Memory) http.Handler{
		"enforced": func(m *fence.Memory) http.Handler {
			return httpfence.Handler(httpfence.Enforce(m), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				tx, err1 := httpfence.Tx[*fence.MemoryTx](r.Context())
				body, err2 := io.ReadAll(r.Body)
				if err := errors.Join(err1, err2); err != nil {
					http.Error(w, err.Error(), http.StatusInternalServerError)
					return
				}
				tx.Put("value", string(body))
			}), nil)
		},
		"handed over": func(m *fence.Memory) http.Handler {
			return httpfence.Handler(httpfence.HandOver(lock), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				s, err := fence.StampFrom(r.Context())
				if err == nil {
					err = m.Apply(r.Context(), s, func(_ context.Context, tx *fence.MemoryTx) error {
						body, err := io.ReadAll(r.Body)
						tx.Put("value", string(body))
						return err
					})
				}
				if err != nil && !httpfence.Answer(w, err) {
					http.Error(w, err.Error(), http.StatusInternalServerError)
				}
			}), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := fence.NewMemory(lock)
			if err != nil {
				t.Fatal(err)
			}
			h := guarded(m)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					value, _, _ := m.Get(r.Context(), "value")
					_, _ = io.WriteString(w, value)
					return
				}
				h.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			b, err := NewHTTP(server.URL, HTTPOptions{Method: "PUT", Headers: []string{"Fence-Stamp: {{.Header}}"}, Body: "{{.Value}}", Read: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			if r := run(t, b); r.Count(Holds) != len(tests) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A report has all that was found, in every form, whatever is in it.
func TestReport(t *testing.T) {
	r := run(t, serve(t, func(l *service) { l.judge = func(_, _ fence.Stamp) error { return nil } }))
	r.Target = "<script>alert(1)</script>"
	var text, colour, page, json strings.Builder
	if err := errors.Join(r.Text(&text, false), r.Text(&colour, true), r.HTML(&page), r.JSON(&json)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "\x1b") || !strings.Contains(colour.String(), "\x1b[1;31mBROKEN") {
		t.Error("colours where there should be none, or none where there should be some")
	}
	if strings.Contains(page.String(), "<script") {
		t.Error("the page runs what it shows")
	}
	for _, out := range []string{text.String(), page.String(), json.String()} {
		for _, words := range []string{r.Summary(), "overwrites the newer one", "an older generation is refused"} {
			if !strings.Contains(out, words) {
				t.Errorf("%q is not in %.200s", words, out)
			}
		}
	}
}

func TestBadTargets(t *testing.T) {
	for _, statement := range []string{"UPDATE jobs SET value = :value", "UPDATE jobs SET value = :value, rev = :revison", "UPDATE jobs SET rev = :revision"} {
		if _, err := NewSQL(nil, sqlfence.SQLite, statement, ""); err == nil {
			t.Errorf("%q is accepted", statement)
		}
	}
	b, err := NewSQL(nil, sqlfence.Postgres, "UPDATE jobs SET value = :value, at = now()::text, rev = :revision", "")
	if err != nil || b.statement != "UPDATE jobs SET value = $1::text, at = now()::text, rev = $2::bigint" {
		t.Errorf("%v, %v", b, err)
	}
	for _, o := range []HTTPOptions{{Body: "{{.Nothing}}"}, {Body: "{{"}, {Headers: []string{"no colon"}}, {Read: "::"}} {
		if _, err := NewHTTP("http://localhost", o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
