package fencetest

import (
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// R7, one after the other: the accepted stamps strictly rise by (epoch, revision,
// sequence), and nothing that is newer is refused.
func orderCases[T any]() []testCase[T] {
	return []testCase[T]{
		{rule: "R7", name: "newer-is-accepted", run: newer[T]},
		{rule: "R7", name: "equal-is-refused", run: equal[T]},
		{rule: "R7", name: "older-is-refused", run: olderRefused[T]},
		{rule: "R7", name: "lower-sequence-is-refused", run: lowerSequence[T]},
		{rule: "R7", name: "other-owner-is-refused", run: otherOwnerRefused[T]},
		{rule: "R7", name: "epoch-before-revision", run: epochFirst[T]},
		{rule: "R7", name: "revision-before-sequence", run: revisionFirst[T]},
	}
}

// Gaps are normal: between two tokens of one lock lie the revisions of all others.
func newer[T any](r *run[T]) {
	c := r.main()
	for i, s := range []fence.Stamp{r.at(1, 1), r.at(1, 2), r.at(1, 9), r.at(2, 1), r.at(7, 3), r.at(7, 4), r.at(9, 1)} {
		c.accept(s, fmt.Sprint("value ", i))
		c.holds(fmt.Sprint("value ", i), "after an accepted write")
	}
}

func equal[T any](r *run[T]) {
	c := r.main()
	c.accept(r.at(5, 1), "first")
	c.refuse(r.at(5, 1), "equal is never newer")
	c.accept(r.at(5, 2), "second")
	c.refuse(r.at(5, 2), "equal is never newer")
}

func olderRefused[T any](r *run[T]) {
	c := r.main()
	c.accept(r.at(3, 1), "old")
	c.accept(r.at(5, 1), "new")
	for _, s := range []fence.Stamp{r.at(3, 2), r.at(4, 1), r.at(1, 1), r.at(3, 1)} {
		c.refuse(s, "a newer token was accepted")
	}
}

func lowerSequence[T any](r *run[T]) {
	c := r.main()
	c.accept(r.at(5, 5), "fifth")
	for _, sequence := range []int64{4, 1, 0} {
		c.refuse(r.at(5, sequence), "a later write of the same hold was accepted")
	}
	c.accept(r.at(5, 6), "sixth")
}

func otherOwnerRefused[T any](r *run[T]) {
	c := r.main()
	c.accept(r.token(0, 5, "one").At(5), "of one")
	for _, sequence := range []int64{6, 5, 4, 0} {
		c.refuse(r.token(0, 5, "other").At(sequence), "another owner's stamp of the same generation was accepted")
	}
	c.accept(r.token(0, 5, "one").At(6), "of one again")
	c.accept(r.token(0, 6, "other").At(1), "of other, in its own generation")
}

// etcd was restored from a backup: revisions start again, under a higher epoch.
func epochFirst[T any](r *run[T]) {
	c := r.main()
	c.accept(r.token(1, 900, "before").At(7), "before the restore")
	c.accept(r.token(2, 5, "after").At(1), "after the restore")
	for _, s := range []fence.Stamp{r.token(1, 901, "before").At(1), r.token(1, 900, "before").At(8), r.token(0, 9000, "x").At(1)} {
		c.refuse(s, "a stamp of a later epoch was accepted")
	}
	c.accept(r.token(2, 6, "after").At(1), "the next")
}

func revisionFirst[T any](r *run[T]) {
	c := r.main()
	c.accept(r.at(5, 900), "late in its hold")
	c.accept(r.at(6, 1), "the next holder's first")
	c.refuse(r.at(5, 901), "a newer token was accepted")
}
