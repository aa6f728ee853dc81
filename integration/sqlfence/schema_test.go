package sqlfence_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// Many processes start at once and each makes sure of its tables.
func TestEnsureSchemaConcurrently(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		for round := range 5 {
			r := s.resource(t, s.db, &sqlfence.Options{Table: fmt.Sprintf("marks_%d", round)})
			start, done := make(chan struct{}), sync.WaitGroup{}
			for range 8 {
				done.Go(func() {
					<-start
					if err := r.EnsureSchema(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			close(start)
			done.Wait()
			if err := s.write(t.Context(), r, token(t, 1).At(1)); err != nil {
				t.Fatal(err)
			}
			if err := r.EnsureSchema(t.Context()); err != nil {
				t.Fatalf("again: %v", err)
			}
			if mark, err := r.Mark(t.Context(), lock); err != nil || mark != token(t, 1).At(1) {
				t.Fatalf("the mark is %v (%v) afterwards", mark, err)
			}
		}
	})
}

// What Schema prints is enough, and may be run twice.
func TestPrintedSchema(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		r := s.resource(t, s.db, &sqlfence.Options{Table: "printed"})
		for range 2 {
			for statement := range strings.SplitSeq(r.Schema(), ";") {
				if statement = strings.TrimSpace(statement); statement != "" {
					s.exec(t, statement)
				}
			}
		}
		if err := s.write(t.Context(), r, token(t, 1).At(1)); err != nil {
			t.Fatal(err)
		}
	})
}

// Nothing is created by the way, and a missing table says what to do.
func TestMissingTable(t *testing.T) {
	onAllStores(t, func(t *testing.T, s *site) {
		r := s.resource(t, s.db, &sqlfence.Options{Table: "absent"})
		_, markErr := r.Mark(t.Context(), lock)
		for what, err := range map[string]error{
			"apply": r.Apply(t.Context(), token(t, 1).At(1), nothing),
			"claim": r.Claim(t.Context(), token(t, 1)),
			"mark":  markErr,
		} {
			if !errors.Is(err, sqlfence.ErrSchema) || !strings.Contains(err.Error(), "EnsureSchema") {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// A table of the same name that is something else is not touched, and never passes.
func TestWrongTable(t *testing.T) {
	cases := map[string]string{
		"other columns":  "CREATE TABLE wrong (other text)",
		"no primary key": "CREATE TABLE wrong (lock_name text, owner text, epoch bigint, revision bigint, sequence bigint, accepted_at text)",
	}
	onAllStores(t, func(t *testing.T, s *site) {
		for name, ddl := range cases {
			t.Run(name, func(t *testing.T) {
				s.exec(t, "DROP TABLE IF EXISTS wrong")
				s.exec(t, ddl)
				r := s.resource(t, s.db, &sqlfence.Options{Table: "wrong"})
				ensured := r.EnsureSchema(t.Context())
				if name == "other columns" && !errors.Is(ensured, sqlfence.ErrSchema) {
					t.Errorf("ensure: %v", ensured)
				}
				err := r.Claim(t.Context(), token(t, 1))
				if !errors.Is(err, sqlfence.ErrSchema) || fence.SafeToRetry(err) {
					t.Errorf("claim: %v", err)
				}
				if n := s.number(t, "SELECT count(*) FROM wrong"); n != 0 {
					t.Errorf("%d rows were written into it", n)
				}
			})
		}
	})
}

// Floating point columns would confuse numbers beyond 2^53.
func TestFloatTable(t *testing.T) {
	s := newSite(t, stores[0])
	s.exec(t, `CREATE TABLE floats (lock_name text PRIMARY KEY, owner text, epoch bigint,
		revision double precision, sequence bigint, accepted_at timestamptz DEFAULT now())`)
	r := s.resource(t, s.db, &sqlfence.Options{Table: "floats"})
	if err := r.EnsureSchema(t.Context()); !errors.Is(err, sqlfence.ErrSchema) {
		t.Fatalf("got %v, want %v", err, sqlfence.ErrSchema)
	}
}

func TestTableInSchema(t *testing.T) {
	s := newSite(t, stores[0])
	s.exec(t, "CREATE SCHEMA billing")
	r := s.resource(t, s.db, &sqlfence.Options{Table: "billing.marks"})
	if err := r.EnsureSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.write(t.Context(), r, token(t, 1).At(1)); err != nil {
		t.Fatal(err)
	}
	if n := s.number(t, "SELECT count(*) FROM billing.marks"); n != 1 {
		t.Fatalf("%d marks", n)
	}
	missing := s.resource(t, s.db, &sqlfence.Options{Table: "nowhere.marks"})
	if err := missing.Claim(t.Context(), token(t, 1)); !errors.Is(err, sqlfence.ErrSchema) {
		t.Fatalf("a schema that does not exist: %v", err)
	}
}

// A service's own user often may not create tables; it need not.
func TestEnsureSchemaWithoutPrivilege(t *testing.T) {
	s := newSite(t, stores[0])
	role := fmt.Sprintf("app_%d", s.number(t, "SELECT oid::bigint FROM pg_database WHERE datname = current_database()"))
	s.exec(t, "CREATE ROLE "+role+" LOGIN")
	defer s.exec(t, "DROP OWNED BY "+role+"; DROP ROLE "+role)
	s.exec(t, "GRANT SELECT, INSERT, UPDATE ON fence_marks, fence_marks_operations TO "+role)
	db := openDB(t, s.driver, strings.Replace(s.dsn, "user=postgres", "user="+role, 1))
	defer db.Close()
	if err := s.resource(t, db, nil).EnsureSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.resource(t, db, nil).Claim(t.Context(), token(t, 1)); err != nil {
		t.Fatal(err)
	}
	err := s.resource(t, db, &sqlfence.Options{Table: "forbidden"}).EnsureSchema(t.Context())
	if err == nil || errors.Is(err, sqlfence.ErrSchema) {
		t.Fatalf("got %v, want the database's own refusal", err)
	}
}
