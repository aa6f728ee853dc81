// Package httpfence carries stamps through HTTP: a client sends the stamp of its context, a
// server refuses what is stale, and the client has the same error as if it had written to
// the resource itself.
//
//	client := &http.Client{Transport: &httpfence.Transport{}}
//	req, err := http.NewRequestWithContext(fence.WithStamp(ctx, hold.Stamp()), "PUT", url, body)
//	resp, err := httpfence.Do(client, req)
//	if errors.Is(err, fence.ErrStale) { ... }
//
// A server has the choice of two guards. With [Enforce] the whole handler is the change of a
// resource; it finds the store's transaction with [Tx], and its answer is sent when the
// change is certain:
//
//	guard := httpfence.Enforce(marks) // a *sqlfence.Resource, say
//	mux.Handle("/accounts/", httpfence.Handler(guard, accounts, nil))
//
// With [HandOver] the handler finds the stamp in its context and shows it to its own
// transaction, in the same step in which it writes. There is no third one that checks the
// stamp and then calls the handler: generation 5 passes, stalls, 7 passes and writes, and 5
// writes over it.
//
// A client that first reads and then writes has to claim before it reads, or it may lose the
// update of a holder that came between. [Marks] takes claims, and [Remote] makes the service a
// resource like any other, so that etcdfence's Bind and Do claim, stamp, and send again what
// got no answer:
//
//	accounts, err := httpfence.NewRemote(client, "https://accounts.example/fence", nil)
//	w, err := etcdfence.Bind(ctx, hold, accounts)
//
// # On the wire
//
// The header "Fence-Stamp" is a structured field (RFC 9651): a String that holds the stamp's
// text form (see fence's wire.go). The numbers are in a string because structured integers
// end at 15 digits, and revisions at 19.
//
//	Fence-Stamp: "v1;e=0;r=53;s=7;o=694d81%2Fweb-7:4711;l=orders%2F42"
//
// "Idempotency-Key" is the operation id of [fence.WithOperation], a String too, or a Display
// String if it is not ASCII. Refusals are problem details (RFC 9457), with both stamps:
//
//	stale, replayed, moved                 412 Precondition Failed
//	no token                               428 Precondition Required
//	malformed token or operation id        400 Bad Request
//	wrong lock, conflict                   409 Conflict
//	duplicate operation                    its recorded answer; 409 if none was recorded
//	contended                              503 Service Unavailable, with Retry-After
//	unknown outcome                        504 Gateway Timeout
//
// # Failure
//
// A request that carried a stamp and has no answer matches [fence.ErrUnknownOutcome] in what
// [Do] returns: send the same stamp again. The transport of net/http sends a request with an
// Idempotency-Key again by itself; the headers, and so the stamp, are the same. A write that
// was applied the first time is then answered as replayed, with a mark that equals the stamp.
// Whoever wants its answer as well gives it an operation id and asks once more, with that id
// and a new stamp. A redirect with another method or to another host does not get the stamp.
//
// # What is not protected
//
// A stamp is no credential: whoever may call may present any number. What a handler does
// besides its transaction is done, also if the transaction is refused or runs again. A proxy
// that stores or repeats requests is one more client that may be late: that is what the
// stamp is for.
package httpfence
