package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

var tables atomic.Int64

// tenant is what the two kinds of subject have in common.
type tenant struct {
	*house
	table string
	dbs   []*sql.DB // the last one is in use
}

func (h *house) tenant(ctx context.Context) (*tenant, error) {
	tn := &tenant{house: h, table: fmt.Sprintf("kit_%d", tables.Add(1))}
	db, err := tn.open()
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{
		"CREATE TABLE " + tn.table + " (id varchar(10) PRIMARY KEY, value varchar(200) NOT NULL)",
		"INSERT INTO " + tn.table + " VALUES ('one', '')",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(err, tn.Close())
		}
	}
	return tn, nil
}

func (tn *tenant) open() (*sql.DB, error) {
	db, err := sql.Open(tn.driver, tn.dsn)
	if err == nil {
		tn.dbs = append(tn.dbs, db)
	}
	return db, err
}

func (tn *tenant) db() *sql.DB { return tn.dbs[len(tn.dbs)-1] }

func (tn *tenant) Lock() string { return "orders/42" }

func (tn *tenant) Read(ctx context.Context) (value string, err error) {
	err = tn.db().QueryRowContext(ctx, "SELECT value FROM "+tn.table).Scan(&value)
	return value, err
}

func (tn *tenant) Close() (err error) {
	for _, db := range tn.dbs {
		err = errors.Join(err, db.Close())
	}
	return err
}

// parameter is the first one, as the store writes it.
func (tn *tenant) parameter() string {
	if tn.dialect == sqlfence.Postgres {
		return "$1"
	}
	return "?"
}

// marksSubject is the form with a table of marks.
type marksSubject struct {
	*tenant
	opts     sqlfence.Options
	wrap     func(fence.FencedResource[*sql.Tx], *marksSubject) fence.FencedResource[*sql.Tx] // for mutants
	resource fence.FencedResource[*sql.Tx]
}

// serverSubject is one whose server can be killed, and its answers lost.
type serverSubject struct{ *marksSubject }

func (h *house) serverMarks() fencetest.Factory[*sql.Tx] {
	return func(ctx context.Context) (fencetest.Subject[*sql.Tx], error) {
		s, err := h.newMarks(ctx, nil)
		return serverSubject{s}, err
	}
}

func (h *house) marks(opts *sqlfence.Options) fencetest.Factory[*sql.Tx] {
	return func(ctx context.Context) (fencetest.Subject[*sql.Tx], error) { return h.newMarks(ctx, opts) }
}

func (h *house) newMarks(ctx context.Context, opts *sqlfence.Options) (*marksSubject, error) {
	tn, err := h.tenant(ctx)
	if err != nil {
		return nil, err
	}
	s := &marksSubject{tenant: tn}
	if opts != nil {
		s.opts = *opts
	}
	s.opts.Table, s.opts.Lock = "marks_"+tn.table, tn.Lock()
	marks, err := sqlfence.New(s.db(), s.dialect, &s.opts)
	if err == nil {
		err = marks.EnsureSchema(ctx)
	}
	s.resource = marks
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *marksSubject) Resource() fence.FencedResource[*sql.Tx] {
	if s.wrap != nil {
		return s.wrap(s.resource, s)
	}
	return s.resource
}

func (s *marksSubject) Write(ctx context.Context, tx *sql.Tx, value string) error {
	_, err := tx.ExecContext(ctx, "UPDATE "+s.table+" SET value = "+s.parameter(), value)
	return err
}

func (s *marksSubject) Reopen(context.Context) error {
	if err := s.db().Close(); err != nil {
		return err
	}
	var err error
	s.resource, err = s.another(false)
	return err
}

func (s serverSubject) Crash(context.Context) error {
	s.kill()
	_ = s.db().Close() // of broken connections
	var err error
	s.resource, err = s.another(false)
	return err
}

func (s serverSubject) Lose(context.Context) error {
	s.proxy.Lose("COMMIT", 1)
	return nil
}

func (s *marksSubject) Share(context.Context) (fence.FencedResource[*sql.Tx], error) {
	other, err := s.another(s.opts.AnyOrder)
	if err != nil || s.wrap == nil {
		return other, err
	}
	return s.wrap(other, s), nil
}

func (s *marksSubject) AnyOrder(ctx context.Context) (fence.FencedResource[*sql.Tx], error) {
	r, err := s.another(true)
	if err == nil {
		err = r.EnsureSchema(ctx)
	}
	return r, err
}

func (s *marksSubject) Operations() {}

// another is the same marks through a pool of its own.
func (s *marksSubject) another(anyOrder bool) (*sqlfence.Resource, error) {
	db, err := s.open()
	if err != nil {
		return nil, err
	}
	opts := s.opts
	opts.AnyOrder = anyOrder
	if anyOrder {
		opts.Isolation = sql.LevelDefault
	}
	return sqlfence.New(db, s.dialect, &opts)
}
