package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// rowSubject is the in-row form.
type rowSubject struct {
	*tenant
	form *sqlfence.InRow
}

// serverRow is one whose answers can be lost: here the statement is its own commit.
type serverRow struct{ *rowSubject }

func (s serverRow) Lose(context.Context) error {
	if s.dialect == sqlfence.MySQL {
		s.proxy.Lose("UPDATE "+s.table, 1)
	} else {
		s.proxy.Lose("UPDATE 1", 1)
	}
	return nil
}

func (h *house) serverRow() fencetest.Factory[*sqlfence.RowChange] {
	return func(ctx context.Context) (fencetest.Subject[*sqlfence.RowChange], error) {
		s, err := h.newRow(ctx)
		return serverRow{s}, err
	}
}

func (h *house) row() fencetest.Factory[*sqlfence.RowChange] {
	return func(ctx context.Context) (fencetest.Subject[*sqlfence.RowChange], error) { return h.newRow(ctx) }
}

func (h *house) newRow(ctx context.Context) (*rowSubject, error) {
	tn, err := h.tenant(ctx)
	if err != nil {
		return nil, err
	}
	form, err := sqlfence.NewInRow(h.dialect, tn.table, "id")
	if err == nil {
		err = execAll(ctx, tn.db(), form.Schema())
	}
	if err != nil {
		return nil, errors.Join(err, tn.Close())
	}
	return &rowSubject{tn, form}, nil
}

func (s *rowSubject) on(db *sql.DB) fence.FencedResource[*sqlfence.RowChange] {
	row, err := s.form.Row(db, s.Lock(), "one")
	if err != nil {
		panic(err) // the name is a constant
	}
	return row
}

func (s *rowSubject) Resource() fence.FencedResource[*sqlfence.RowChange] { return s.on(s.db()) }

func (s *rowSubject) Write(_ context.Context, c *sqlfence.RowChange, value string) error {
	c.Set("value = "+s.parameter(), value)
	return nil
}

func (s *rowSubject) Reopen(context.Context) error {
	if err := s.db().Close(); err != nil {
		return err
	}
	_, err := s.open()
	return err
}

func (s *rowSubject) Share(context.Context) (fence.FencedResource[*sqlfence.RowChange], error) {
	db, err := sql.Open(s.driver, s.dsn)
	s.dbs = append([]*sql.DB{db}, s.dbs...)
	return s.on(db), err
}
