package etcdtest

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// KV returns a front for kv: client.KV = faults.KV(client.KV).
func (f *Faults) KV(kv clientv3.KV) clientv3.KV { return &faultyKV{KV: kv, f: f} }

type faultyKV struct {
	clientv3.KV
	f *Faults
}

// callOf describes an operation.
func callOf(op clientv3.Op, opts []clientv3.OpOption) Call {
	c := Call{Key: string(op.KeyBytes()), End: string(op.RangeBytes()), Opts: opts}
	switch {
	case op.IsGet():
		c.Op = OpGet
	case op.IsPut():
		c.Op = OpPut
	case op.IsDelete():
		c.Op = OpDelete
	case op.IsTxn():
		c.Op = OpTxn
		c.If, c.Then, c.Else = op.Txn()
	}
	return c
}

func (kv *faultyKV) Put(ctx context.Context, key, val string, opts ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	return through(ctx, kv.f, callOf(clientv3.OpPut(key, val, opts...), opts), func() (*clientv3.PutResponse, error) {
		return kv.KV.Put(ctx, key, val, opts...)
	})
}

func (kv *faultyKV) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return through(ctx, kv.f, callOf(clientv3.OpGet(key, opts...), opts), func() (*clientv3.GetResponse, error) {
		return kv.KV.Get(ctx, key, opts...)
	})
}

// GetStream is a get whose reply is the opened stream. One whose reply is lost
// is read to its end here.
func (kv *faultyKV) GetStream(ctx context.Context, key string, opts ...clientv3.OpOption) (clientv3.GetStreamChan, error) {
	var opened clientv3.GetStreamChan
	ch, err := through(ctx, kv.f, callOf(clientv3.OpGet(key, opts...), opts), func() (_ clientv3.GetStreamChan, err error) {
		opened, err = kv.KV.GetStream(ctx, key, opts...)
		return opened, err
	})
	if err != nil && opened != nil {
		for range opened {
		}
	}
	return ch, err
}

func (kv *faultyKV) Delete(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	return through(ctx, kv.f, callOf(clientv3.OpDelete(key, opts...), opts), func() (*clientv3.DeleteResponse, error) {
		return kv.KV.Delete(ctx, key, opts...)
	})
}

func (kv *faultyKV) Compact(ctx context.Context, rev int64, opts ...clientv3.CompactOption) (*clientv3.CompactResponse, error) {
	return through(ctx, kv.f, Call{Op: OpCompact}, func() (*clientv3.CompactResponse, error) {
		return kv.KV.Compact(ctx, rev, opts...)
	})
}

func (kv *faultyKV) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	return through(ctx, kv.f, callOf(op, nil), func() (clientv3.OpResponse, error) {
		return kv.KV.Do(ctx, op)
	})
}

func (kv *faultyKV) Txn(ctx context.Context) clientv3.Txn {
	return &faultyTxn{ctx: ctx, f: kv.f, txn: kv.KV.Txn(ctx), call: Call{Op: OpTxn}}
}

// faultyTxn keeps what the transaction consists of until it is committed.
type faultyTxn struct {
	ctx  context.Context
	f    *Faults
	txn  clientv3.Txn
	call Call
}

func (t *faultyTxn) If(cs ...clientv3.Cmp) clientv3.Txn {
	t.txn = t.txn.If(cs...)
	t.call.If = append(t.call.If, cs...)
	return t
}

func (t *faultyTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	t.txn = t.txn.Then(ops...)
	t.call.Then = append(t.call.Then, ops...)
	return t
}

func (t *faultyTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	t.txn = t.txn.Else(ops...)
	t.call.Else = append(t.call.Else, ops...)
	return t
}

func (t *faultyTxn) Commit() (*clientv3.TxnResponse, error) {
	return through(t.ctx, t.f, t.call, t.txn.Commit)
}
