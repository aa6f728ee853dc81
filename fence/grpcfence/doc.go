// Package grpcfence carries stamps through gRPC: a client sends the stamp of its context, a
// server refuses what is stale, and the client has the same error as if it had written to
// the resource itself.
//
//	conn, err := grpc.NewClient(target,
//		grpc.WithUnaryInterceptor(grpcfence.UnaryClient()), grpc.WithStreamInterceptor(grpcfence.StreamClient()))
//	_, err = accounts.Transfer(fence.WithStamp(ctx, hold.Stamp()), request)
//	if errors.Is(err, fence.ErrStale) { ... }
//
// A server has the choice of two guards. With [Enforce] the whole handler is the change of
// a resource; it finds the store's transaction with [Tx]:
//
//	guard := grpcfence.Enforce(marks) // a *sqlfence.Resource, say
//	grpc.NewServer(grpc.UnaryInterceptor(grpcfence.UnaryServer(guard, nil)))
//
//	func (s *server) Transfer(ctx context.Context, in *pb.Order) (*pb.Receipt, error) {
//		tx, err := grpcfence.Tx[*sql.Tx](ctx)
//		...
//	}
//
// With [HandOver] the handler finds the stamp in its context and shows it to its own
// transaction, in the same step in which it writes. There is no third one that checks the
// stamp and then calls the handler: generation 5 passes, stalls, 7 passes and writes, and 5
// writes over it.
//
// A client that first reads and then writes has to claim before it reads, or it may lose the
// update of a holder that came between. [RegisterMarks] takes claims, and [Remote] makes the
// service a resource like any other, so that etcdfence's Bind and Do claim, stamp, and send
// again what got no answer.
//
// # On the wire
//
// The metadata "fence-stamp" is the stamp's text form (see fence's wire.go), which is
// printable ASCII; "fence-operation-bin" is the operation id of [fence.WithOperation]. A
// refusal is a status with a google.rpc.ErrorInfo of the domain "etcdfence", whose reason is
// the kind of refusal and whose metadata are the stamps:
//
//	stale, replayed, conflict, wrong lock, moved   FailedPrecondition
//	no token, malformed token or operation id      InvalidArgument
//	duplicate operation                            AlreadyExists; or its recorded answer
//	contended                                      Aborted
//	unknown outcome                                Unknown
//
// # Failure
//
// A call that carried a stamp and ended without an answer of the fence (Unavailable,
// DeadlineExceeded, Canceled and so on) matches [fence.ErrUnknownOutcome] besides its status:
// send the same stamp again. gRPC's own retries send the same metadata, so they never make a
// new stamp. A write that was applied at the first attempt is then answered as replayed, with
// a mark that equals the stamp. Whoever wants its answer as well gives it an operation id and
// asks once more, with that id and a new stamp.
//
// # What is not protected
//
// A stamp is no credential: whoever may call may present any number. What a handler does
// besides its transaction is done, also if the transaction is refused or runs again.
package grpcfence
