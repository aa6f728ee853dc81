package fence_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/etcdfence/etcdfence/fence"
)

// Tokens come from the lock; here they are made by hand. A stalls, B takes the lock
// over and writes, and A's late write finds that the resource knows of B.
func ExampleMemory() {
	ctx := context.Background()
	a, _ := fence.NewToken("orders/42", 0, 1, "worker-a")
	b, _ := fence.NewToken("orders/42", 0, 2, "worker-b")
	orders, err := fence.NewMemory("orders/42")
	if err != nil {
		log.Fatal(err)
	}
	write := func(s fence.Stamp, value string) error {
		return orders.Apply(ctx, s, func(_ context.Context, tx *fence.MemoryTx) error {
			tx.Put("status", value)
			return nil
		})
	}

	late := a.At(1) // A is ready to write, and pauses here
	fmt.Println("B:", write(b.At(1), "v2"))
	err = write(late, "v1")
	fmt.Println("A:", err)
	fmt.Println("A must stop:", errors.Is(err, fence.ErrStale))
	value, _, _ := orders.Get(ctx, "status")
	fmt.Println("value:", value)
	// Output:
	// B: <nil>
	// A: fence: stale: orders/42@1#1 presented, but orders/42@2#1 was accepted
	// A must stop: true
	// value: v2
}

// Without the claim A could still write after B has read, and B would answer from
// what is no longer so.
func ExampleMemory_Claim() {
	ctx := context.Background()
	a, _ := fence.NewToken("orders/42", 0, 1, "worker-a")
	b, _ := fence.NewToken("orders/42", 0, 2, "worker-b")
	orders, _ := fence.NewMemory("orders/42")

	fmt.Println("B claims:", orders.Claim(ctx, b))
	err := orders.Apply(ctx, a.At(1), func(context.Context, *fence.MemoryTx) error { return nil })
	fmt.Println("A writes:", err)
	// Output:
	// B claims: <nil>
	// A writes: fence: stale: orders/42@1#1 presented, but orders/42@2#0 was accepted
}

// A later holder repeats a payment that was made already: it is not made twice, and
// the answer given the first time comes back.
func ExampleWithOperation() {
	orders, _ := fence.NewMemory("orders/42")
	pay := func(s fence.Stamp) error {
		ctx := fence.WithOperation(context.Background(), "pay-42")
		return orders.Apply(ctx, s, func(ctx context.Context, tx *fence.MemoryTx) error {
			tx.Put("paid", "10 EUR")
			fence.OperationFrom(ctx).SetResult([]byte("receipt 7"))
			return nil
		})
	}
	a, _ := fence.NewToken("orders/42", 0, 1, "worker-a")
	b, _ := fence.NewToken("orders/42", 0, 2, "worker-b")

	fmt.Println(pay(a.At(1)))
	var done *fence.DuplicateError
	if errors.As(pay(b.At(1)), &done) {
		fmt.Printf("done by %v: %s\n", done.Stamp, done.Result)
	}
	// Output:
	// <nil>
	// done by orders/42@1#1: receipt 7
}

// The text form is for headers, message attributes and text columns.
func ExampleToken_MarshalText() {
	t, _ := fence.NewToken("orders/42", 0, 53, "694d81/web-7:4711")
	text, _ := t.MarshalText()
	fmt.Println(string(text))

	var back fence.Token
	fmt.Println(back.UnmarshalText(text), back == t)
	// Output:
	// v1;e=0;r=53;o=694d81%2Fweb-7:4711;l=orders%2F42
	// <nil> true
}
