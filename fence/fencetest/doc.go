// Package fencetest is the conformance kit for [fence.FencedResource]: it tells whether
// a resource keeps the contract, rule by rule.
//
// # How to use it
//
// Write a [Subject] for the resource, which is a handful of short methods, and hand a
// factory of fresh ones to [Run]:
//
//	func TestConformance(t *testing.T) {
//		fencetest.Run(t, func(ctx context.Context) (fencetest.Subject[*Tx], error) {
//			r, err := Open(filepath.Join(t.TempDir(), "data"), "orders/42")
//			return subject{r}, err
//		})
//	}
//
// [Check] is the same without a *testing.T. Give the subject the powers that the
// resource has ([Reopener], [Crasher], [Loser], [Sharer], [AnyOrderer], [Operator]): what is
// not offered is not checked. The log of [Run] names it (go test -v).
//
// # How to read a failure
//
// A failure names the rule, says what happened and what should have, and prints the
// history of the case. "3-6 party 2 Apply orders/42@5#1" is the call that was third to
// begin; it ended sixth. Calls whose numbers overlap were under way together.
//
// Cases ask for one rule each. When many fail, look at R7, R4 and R5 first.
//
// # What a pass proves
//
// On the runs that were made, with the parties that the subject could offer:
//
//   - Sequences of writes and claims, in order and out of it, had the answers that
//     [fence.Judge] gives, in words and in effect: R3, R5, R7, R8, R9, R10.
//   - Changes that failed, panicked or were cancelled left nothing behind: R4.
//   - An older change that was in progress while a newer claim or write arrived did not
//     land behind it: R1. The kit keeps the change in progress itself, so this does not
//     depend on luck, as long as the gap includes the running of the change.
//   - Everything that was accepted was there after a reopen, and after the crash that
//     the subject can make: R2.
//
// # What it cannot prove
//
//   - Durability beyond that crash: power loss, a disk that lies, a failover to a
//     replica that lagged, eviction.
//   - That a gap of a few instructions between comparison and commit is not there. The
//     races of R1 and R7 may miss it; repeat them (go test -count).
//   - R6 for every way in which a reply can be lost. A [Loser] shows one. All cases treat
//     [fence.ErrUnknownOutcome] and [fence.ErrContended] as the contract says, so the
//     whole kit can be run over a connection that fails now and then.
//   - That nobody writes around the fence: another writer without a token, a change
//     that touches more than its handle.
//   - Anything of etcd. Tokens are made up here.
//
// # Time
//
// A case ends within [DefaultPatience], or what a [Patient] subject says; a resource
// that hangs is a violation, and its goroutine is left behind. A resource that lets
// nobody pass a change in progress costs a quarter of a second in each of a few cases.
//
// The kit is itself tested against liars, resources with one fault each; which liar
// fails which case is in testdata/liars.txt.
package fencetest
