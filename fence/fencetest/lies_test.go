package fencetest_test

import (
	"errors"
	"slices"

	"github.com/etcdfence/etcdfence/fence"
)

// row is one liar. What it must fail is in testdata/liars.txt.
type row struct {
	name string
	lie  func(*liar)
}

var lies = slices.Concat([]row{{name: "honest", lie: func(*liar) {}}},
	fenceLies, changeLies, claimLies, wordLies, otherLies)

type stampRule = func(lock string, mark, s fence.Stamp) error

func never(string, fence.Stamp, fence.Stamp) error { return nil }

// except is the rule, but for stamps that are ok nonetheless.
func except(ok func(mark, s fence.Stamp) bool) stampRule {
	return func(lock string, mark, s fence.Stamp) error {
		if err := fence.Judge(lock, mark, s); err != nil && !ok(mark, s) {
			return err
		}
		return nil
	}
}

// translated is the rule on other stamps than the ones that were presented.
func translated(to func(fence.Stamp) fence.Stamp) stampRule {
	return func(lock string, mark, s fence.Stamp) error {
		if err := fence.Judge(lock, fence.Stamp{}, s); err != nil || mark.IsZero() {
			return err
		}
		var refused *fence.RefusedError
		if err := fence.Judge(lock, to(mark), to(s)); errors.As(err, &refused) {
			return &fence.RefusedError{Lock: lock, Presented: s, Mark: mark, Reason: refused.Reason}
		}
		return nil
	}
}

func as(t fence.Token, epoch, revision int64, owner string) fence.Token {
	u, err := fence.NewToken(t.Lock(), epoch, revision, owner)
	if err != nil {
		panic(err)
	}
	return u
}

func refusedWith(change func(*fence.RefusedError)) func(error) error {
	return func(err error) error {
		var refused *fence.RefusedError
		if errors.As(err, &refused) {
			change(refused)
		}
		return err
	}
}

func isRefused(err error) bool {
	var refused *fence.RefusedError
	return errors.As(err, &refused)
}

// outside runs a change out of the critical section.
func (l *liar) outside(_ *state, inside func()) {
	<-l.turn
	defer func() { l.turn <- struct{}{} }()
	inside()
}
