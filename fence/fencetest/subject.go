package fencetest

import (
	"context"

	"github.com/etcdfence/etcdfence/fence"
)

// Subject is one fresh resource under test, and what the kit needs to look at it
// from outside. A fresh one has accepted nothing and has no data. T is the store's
// transactional handle, as in [fence.FencedResource].
//
// What a resource may or may not be able to do is asked by the small interfaces
// below: [Reopener], [Crasher], [Loser], [Sharer], [AnyOrderer], [Operator], and
// [fence.Rebaser] on the resource itself.
type Subject[T any] interface {
	// Resource is the resource under test.
	Resource() fence.FencedResource[T]

	// Lock is the name of the lock that guards it.
	Lock() string

	// Write is the change that the kit makes inside Apply: it sets the one value that
	// the resource holds. The kit writes values of at most 100 printable ASCII bytes.
	Write(ctx context.Context, tx T, value string) error

	// Read returns the value from outside, without a fence and not from a cache; "" if
	// nothing was written.
	Read(ctx context.Context) (string, error)

	// Close gives everything back. The kit calls it once, at the end of the case.
	Close() error
}

// Factory makes a fresh Subject. Each case asks for its own.
type Factory[T any] func(ctx context.Context) (Subject[T], error)

// Reopener is a Subject that can be closed and opened anew on the same data, as a
// program does that is restarted. Afterwards Resource returns another value.
type Reopener interface {
	Reopen(ctx context.Context) error
}

// Crasher is a Subject whose store can be killed, without being told, and started
// again on the same data. Calls that are under way may fail in any way. Afterwards
// Resource works again.
type Crasher interface {
	Crash(ctx context.Context) error
}

// Loser is a Subject whose connection to the store can lose a reply, as a proxy in
// between does.
type Loser interface {
	// Lose arms it: of the next change or claim that the store makes durable, the reply
	// does not arrive. The kit makes one such call and no others meanwhile.
	Lose(ctx context.Context) error
}

// Sharer is a Subject that can be opened several times at once, as several
// processes do. Without it the kit uses the one Resource from several goroutines.
type Sharer[T any] interface {
	// Share opens the same store once more. The Subject's Close closes it.
	Share(ctx context.Context) (fence.FencedResource[T], error)
}

// AnyOrderer is a Subject whose resource can be had with a guard that takes the
// stamps of one hold in any order: see [fence.JudgeAnyOrder].
type AnyOrderer[T any] interface {
	// AnyOrder returns it, on the same data and the same mark.
	AnyOrder(ctx context.Context) (fence.FencedResource[T], error)
}

// Operator is a Subject whose resource records operation ids: see
// [fence.WithOperation].
type Operator interface {
	// Operations only says that it does.
	Operations()
}
