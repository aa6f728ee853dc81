package etcdfence

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"google.golang.org/grpc/codes"
)

// recipe is etcd's own lock recipe, concurrency.Mutex, run for one acquisition. The
// queue, the keys and their order are the recipe's. It runs on a client that is
// assembled from the user's client with a thin front, which sees to five things:
//
//   - the recipe's cleanup deletes by key name on the client's own context, which can
//     hang for ever and can hit a later hold: it is swallowed here, and discard does
//     it with a guard;
//   - the wait for the predecessor starts at "now" and re-checks once (wait.go);
//   - a key that no recipe made is an error instead of an endless wait;
//   - the key has a value: what a candidate proposes, or the owner's label, for people
//     who look into the queue;
//   - the create revision is known even if the recipe fails later, so that what it
//     leaves behind can be removed by that revision.
type recipe struct {
	h       *Hold
	doubt   bool             // the create request may have been carried out
	foreign *ForeignKeyError // what was found in the way
}

type recipeKey struct{}

// newMutex returns the recipe for h and the context to run its mutex in: by that
// the front, which all recipes of a lease share, knows which one is calling.
func newMutex(ctx context.Context, h *Hold) (context.Context, *recipe, *concurrency.Mutex) {
	r := &recipe{h: h}
	return context.WithValue(ctx, recipeKey{}, r), r, concurrency.NewMutex(h.lease.session, h.prefix)
}

// newSession makes the session that the recipes of a lease run in. It is one in name
// only: lease.go renews the lease, so the session's own keep-alive ends at once.
func newSession(client *clientv3.Client, id clientv3.LeaseID) (*concurrency.Session, error) {
	c := clientv3.NewCtxClient(context.Background())
	front := &front{KV: client, Watcher: client}
	c.KV, c.Watcher, c.Lease = front, front, orphan{client}
	s, err := concurrency.NewSession(c, concurrency.WithLease(id))
	if err != nil {
		return nil, err
	}
	<-s.Done()
	return s, nil
}

type orphan struct{ clientv3.Lease }

func (orphan) KeepAlive(context.Context, clientv3.LeaseID) (<-chan *clientv3.LeaseKeepAliveResponse, error) {
	ended := make(chan *clientv3.LeaseKeepAliveResponse)
	close(ended)
	return ended, nil
}

// front stands between the recipe and the user's client.
type front struct {
	clientv3.KV
	clientv3.Watcher
}

func calling(ctx context.Context) *recipe { return ctx.Value(recipeKey{}).(*recipe) }

// Close belongs to the user's client.
func (*front) Close() error { return nil }

// Txn is how the recipe creates its key.
func (f *front) Txn(ctx context.Context) clientv3.Txn {
	return &createTxn{r: calling(ctx), txn: f.KV.Txn(ctx)}
}

// Get is how the recipe looks for its predecessor, and for its own key at the end.
func (f *front) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	r := calling(ctx)
	resp, err := f.KV.Get(ctx, key, opts...)
	if err != nil {
		return nil, err
	}
	for _, kv := range resp.Kvs {
		if err := r.inspect(kv); err != nil {
			return nil, err
		}
		if string(kv.Key) == r.h.key && kv.CreateRevision != r.h.revision.Load() {
			resp.Kvs = nil // another incarnation of the key is not this one
		}
	}
	return resp, nil
}

// Delete is how the recipe cleans up; see above.
func (*front) Delete(context.Context, string, ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	return &clientv3.DeleteResponse{}, nil
}

// inspect refuses a key in the queue that no recipe made.
func (r *recipe) inspect(kv *mvccpb.KeyValue) error {
	if madeByRecipe(r.h.prefix, kv) {
		return nil
	}
	r.foreign = &ForeignKeyError{Lock: r.h.lock, Key: string(kv.Key)}
	return r.foreign
}

// madeByRecipe reports whether a key under the prefix can be one of etcd's recipes for
// locks and elections: those end in the hexadecimal id of the lease they are attached
// to. It needs a key that was read whole, since a keys-only answer lacks the lease
// (etcd issue 22209).
func madeByRecipe(prefix string, kv *mvccpb.KeyValue) bool {
	suffix := strings.TrimPrefix(string(kv.Key), prefix+"/")
	id, err := strconv.ParseInt(suffix, 16, 64)
	return err == nil && id == kv.Lease && id != 0
}

type createTxn struct {
	r   *recipe
	txn clientv3.Txn
}

func (t *createTxn) If(cs ...clientv3.Cmp) clientv3.Txn { t.txn = t.txn.If(cs...); return t }

func (t *createTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	for i := range ops {
		if ops[i].IsPut() {
			ops[i].WithValueBytes([]byte(t.r.h.value))
		}
	}
	t.txn = t.txn.Then(ops...)
	return t
}

func (t *createTxn) Else(ops ...clientv3.Op) clientv3.Txn { t.txn = t.txn.Else(ops...); return t }

func (t *createTxn) Commit() (*clientv3.TxnResponse, error) {
	resp, err := t.txn.Commit()
	if err != nil {
		t.r.doubt = !refusedByServer(err)
		return nil, err
	}
	if !resp.Succeeded {
		t.r.h.revision.Store(resp.Responses[0].GetResponseRange().Kvs[0].CreateRevision)
		return nil, errLeftover
	}
	t.r.h.revision.Store(resp.Header.Revision)
	t.r.h.a.keys.expect(t.r.h)
	for _, kv := range resp.Responses[1].GetResponseRange().Kvs {
		if err := t.r.inspect(kv); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// errLeftover: the key is there already, left by an earlier request of this adapter
// whose reply was lost. The recipe would take it over; but a key may only become a
// token once, so it is removed and the recipe starts again.
var errLeftover = errors.New("etcdfence: the key was left over from an earlier request")

// refusedByServer reports whether err is an answer by which etcd says that it did
// not carry out a write. ResourceExhausted is none: etcd answers "no space" to a
// transaction that it has applied (quotaApplierV3).
func refusedByServer(err error) bool {
	var answer rpctypes.EtcdError
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.Code() {
	case codes.NotFound, codes.PermissionDenied, codes.Unauthenticated, codes.InvalidArgument,
		codes.FailedPrecondition, codes.OutOfRange:
		return true
	}
	return false
}
