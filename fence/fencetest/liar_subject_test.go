package fencetest_test

import (
	"context"
	"time"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
)

// liarSubject has every power, so that no case is left out.
type liarSubject struct {
	*liar
	patience time.Duration
}

func (s *liarSubject) Resource() fence.FencedResource[*liarTx] { return s.liar }

func (s *liarSubject) Lock() string { return liarLock }

func (s *liarSubject) Write(_ context.Context, tx *liarTx, value string) error {
	tx.staged = &value
	tx.liar.written(&tx.liar.state, value)
	return nil
}

func (s *liarSubject) Read(context.Context) (string, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.value, nil
}

func (s *liarSubject) Close() error { return nil }

func (s *liarSubject) Patience() time.Duration { return s.patience }

func (s *liarSubject) Reopen(context.Context) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.reopen(&s.state)
	return nil
}

// Crash loses the change that is in progress.
func (s *liarSubject) Crash(ctx context.Context) error {
	s.crashes.Add(1)
	return s.Reopen(ctx)
}

func (s *liarSubject) Lose(context.Context) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.losing = true
	return nil
}

func (s *liarSubject) Share(context.Context) (fence.FencedResource[*liarTx], error) {
	return s.share(s.liar), nil
}

func (s *liarSubject) AnyOrder(context.Context) (fence.FencedResource[*liarTx], error) {
	return anyOrderLiar{s.liar}, nil
}

func (s *liarSubject) Operations() {}

type anyOrderLiar struct{ *liar }

func (l anyOrderLiar) Apply(ctx context.Context, s fence.Stamp, change liarChange) error {
	return l.apply(ctx, s, change, l.anyOrder)
}

// liars is a factory of them.
func liars(patience time.Duration, lie func(*liar)) fencetest.Factory[*liarTx] {
	return func(context.Context) (fencetest.Subject[*liarTx], error) {
		l := newLiar()
		lie(l)
		return &liarSubject{l, patience}, nil
	}
}
