package httpfence

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcdfence/etcdfence/fence"
)

// Guard is how a server enforces: [Enforce] or [HandOver].
type Guard interface {
	// run calls the handler in the one step in which the stamp is compared, or leaves that
	// to the handler.
	run(ctx context.Context, s fence.Stamp, handler func(context.Context) error) error

	// settles reports whether the outcome is known only after the handler has returned.
	settles() bool
}

// Enforce makes the handler the change of a resource: what it does with the transaction
// that it finds with [Tx] and the new mark become visible together, or not at all. A handler
// that panics, or answers with a status of 400 or more, leaves everything as it was. The
// client has its answer only when that is certain.
//
// A resource may run its change more than once, so a handler may be called again with the
// same request, its body included; it must do nothing but answer and use the transaction.
func Enforce[T any](r fence.FencedResource[T]) Guard { return enforce[T]{r} }

type enforce[T any] struct{ resource fence.FencedResource[T] }

type txKey[T any] struct{}

func (e enforce[T]) run(ctx context.Context, s fence.Stamp, handler func(context.Context) error) error {
	return e.resource.Apply(fence.WithStamp(ctx, s), s, func(ctx context.Context, tx T) error {
		return handler(context.WithValue(ctx, txKey[T]{}, tx))
	})
}

func (enforce[T]) settles() bool { return true }

// ErrNoTx is returned by [Tx] outside of a handler that [Enforce] guards, or if the resource
// has another kind of transaction: a mistake in the program.
var ErrNoTx = errors.New("httpfence: no transaction in the context")

// Tx returns the transaction of the resource that guards the handler, from the request's
// context. It ends with the handler and must not be kept.
func Tx[T any](ctx context.Context) (T, error) {
	tx, ok := ctx.Value(txKey[T]{}).(T)
	if !ok {
		return tx, fmt.Errorf("%w of type %T", ErrNoTx, *new(T))
	}
	return tx, nil
}

// HandOver leaves the comparison to the handler, which finds the stamp with
// [fence.StampFrom] and must show it to its store in the same step in which it writes:
// sqlfence's Admit first in the transaction, say. It answers a refusal with [Answer]. A
// handler that only looks at the stamp protects nothing. Tokens of another lock are refused
// before; the empty name lets all pass, for a service that guards many.
func HandOver(lock string) Guard { return handOver(lock) }

type handOver string

func (lock handOver) run(ctx context.Context, s fence.Stamp, handler func(context.Context) error) error {
	if lock != "" && s.Token().Lock() != string(lock) {
		return &fence.RefusedError{Lock: string(lock), Presented: s, Reason: fence.ErrWrongLock}
	}
	return handler(fence.WithStamp(ctx, s))
}

func (handOver) settles() bool { return false }
