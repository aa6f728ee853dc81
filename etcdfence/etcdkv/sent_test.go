package etcdkv_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdkv"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
)

func as[E error](t *testing.T, err error) (e E) {
	t.Helper()
	if !errors.As(err, &e) {
		t.Fatalf("%v is no %T", err, e)
	}
	return e
}

// T20 for our own retries: the reply of an applied write is lost, Bound sends the same
// stamp again, the mark proves that it was applied.
func TestLostReplyThroughBound(t *testing.T) {
	server := etcdtest.Start(t)
	client := server.NewClient(t)
	faults := etcdtest.NewFaults(t)
	faults.Install(client)
	r := open(t, client, nil)
	h, err := adapter(t, server, "").Lock(t.Context(), lock)
	must(t, err)
	w, err := etcdfence.Bind(t.Context(), h, r)
	must(t, err)
	trap := faults.Add(etcdtest.Rule{Op: etcdtest.OpTxn, Match: etcdtest.Call.Writes, Do: etcdtest.LoseReply})
	before := server.Revision(t)
	must(t, w.Apply(t.Context(), put("balance", "1")))
	if trap.Hits() != 1 || server.Revision(t) != before+1 {
		t.Fatalf("%d replies were lost, and %d revisions made", trap.Hits(), server.Revision(t)-before)
	}
	must(t, h.Release(t.Context()))
}

// T20 for the client's retries: clientv3 sends a write again if the answer is Canceled or
// DeadlineExceeded while the caller's context lives, as a proxy with a time limit says.
// The second sending is refused as replayed, and that is not the truth about the call.
func TestTheClientSendsTwice(t *testing.T) {
	var lie atomic.Int64
	server := etcdtest.Start(t)
	client := server.NewClient(t, etcdtest.WithDialOption(grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			err := invoke(ctx, method, req, reply, cc, opts...)
			txn, is := req.(*pb.TxnRequest)
			if is && err == nil && len(txn.Compare) > 0 && lie.Add(-1) >= 0 {
				return status.Error(codes.DeadlineExceeded, "upstream request timeout")
			}
			return err
		})))
	for name, opts := range map[string]*etcdkv.Options{"strict": nil, "any order": {AnyOrder: true}} {
		t.Run(name, func(t *testing.T) {
			r, err := etcdkv.New(client, "data/"+name, lock, opts)
			must(t, err)
			must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
			lie.Store(2)
			before := server.Revision(t)
			must(t, r.Apply(fence.WithOperation(t.Context(), "pay"), at(t, 5, 1), put("balance", "1")))
			if lie.Load() > 0 || server.Revision(t) != before+1 {
				t.Fatalf("%d lies are left, and %d revisions were made", lie.Load(), server.Revision(t)-before)
			}
			// A real replay is reported on a first sending too.
			lie.Store(0)
			if name == "strict" {
				mustBe(t, r.Apply(t.Context(), at(t, 5, 1), put("balance", "2")), fence.ErrReplayed)
			}
			lie.Store(1)
			must(t, r.Claim(t.Context(), at(t, 6, 0).Token()))
			lie.Store(0)
			marked(t, r, at(t, 6, 0))
		})
	}
}

func TestTooLarge(t *testing.T) {
	server := etcdtest.Start(t)
	r := open(t, server.NewClient(t), nil)
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	many := func(n int) func(context.Context, *etcdkv.Tx) error {
		return func(_ context.Context, tx *etcdkv.Tx) error {
			for i := range n {
				tx.Put(string(rune('A'+i)), "")
			}
			return nil
		}
	}
	must(t, r.Apply(t.Context(), at(t, 5, 1), many(127))) // and the mark: etcd's own 128
	for name, change := range map[string]func(context.Context, *etcdkv.Tx) error{
		"operations":       many(128),
		"bytes for server": put("k", string(make([]byte, 1600<<10))),
		"bytes for client": put("k", string(make([]byte, 3<<20))),
	} {
		err := r.Apply(t.Context(), at(t, 5, 2), change)
		mustBe(t, err, etcdkv.ErrTooLarge)
		if fence.SafeToRetry(err) {
			t.Errorf("%s: %v says that a retry helps", name, err)
		}
	}
	marked(t, r, at(t, 5, 1))
}

// etcd can answer a Txn that it has applied with "no space": its quota is asked before the
// proposal, and again when it is carried out, which then only raises the alarm.
func TestNoSpaceAfterItWasApplied(t *testing.T) {
	server := etcdtest.Start(t)
	client := server.NewClient(t)
	faults := etcdtest.NewFaults(t)
	faults.Install(client)
	r := open(t, client, nil)
	faults.Add(etcdtest.Rule{Op: etcdtest.OpTxn, Match: etcdtest.Call.Writes, Do: etcdtest.LoseReply, Err: rpctypes.ErrNoSpace, Times: 3})
	must(t, r.Claim(t.Context(), at(t, 5, 0).Token()))
	must(t, r.Apply(t.Context(), at(t, 5, 1), put("k", "v")))
	marked(t, r, at(t, 5, 1))
	faults.Clear()
	faults.Add(etcdtest.Rule{Op: etcdtest.OpTxn, Match: etcdtest.Call.Writes, Do: etcdtest.FailBefore, Err: rpctypes.ErrNoSpace})
	err := r.Apply(t.Context(), at(t, 5, 2), put("k", "w"))
	mustBe(t, err, rpctypes.ErrNoSpace)
	if fence.SafeToRetry(err) {
		t.Fatalf("%v says that a retry helps", err)
	}
	// What it wrote may have been replaced since: then nobody knows.
	faults.Clear()
	faults.Add(etcdtest.Rule{Op: etcdtest.OpTxn, Match: etcdtest.Call.Writes, Do: etcdtest.FailBefore, Err: rpctypes.ErrNoSpace})
	mustBe(t, r.Apply(t.Context(), at(t, 5, 1), put("k", "w")), fence.ErrUnknownOutcome)
}

// The truth, whatever etcd answers when it is full.
func TestNoSpace(t *testing.T) {
	server := etcdtest.Start(t, etcdtest.WithConfig(smallQuota))
	r := open(t, server.NewClient(t), nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	large := string(make([]byte, 1<<20))
	for sequence := int64(1); ; sequence++ {
		err := r.Apply(ctx, at(t, 5, sequence), put("k", large))
		mark, merr := r.Mark(ctx, lock)
		must(t, merr)
		if applied := mark == at(t, 5, sequence); applied != (err == nil) {
			t.Fatalf("applied %v, and the answer was %v", applied, err)
		}
		if err != nil {
			mustBe(t, err, rpctypes.ErrNoSpace)
			if fence.SafeToRetry(err) {
				t.Fatalf("%v says that a retry helps", err)
			}
			return
		}
	}
}
