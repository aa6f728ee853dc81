package etcdkv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/fence"
)

// Tx is what a change works on. Its writes are staged, and sent all together after the
// change has returned nil; the last one of a key counts. Keys are relative to the
// resource's prefix. A Tx must not be kept, nor used by several goroutines.
type Tx struct {
	kv     clientv3.KV
	prefix string
	writes map[string]*string // nil is a deletion
	reads  map[string]readKey
	at     int64 // the revision of all reads, 0 before the first
	err    error // the first bad key
}

type readKey struct {
	value    string
	modified int64 // 0 if it is not there
}

// Get returns the value of a key as the change sees it, its own writes included, and
// whether it is there. All reads of a change see one revision of etcd. The write is
// applied only if none of the keys that were read has changed until then; if one has,
// the change runs again.
//
// Errors: [ErrBadKey]; [fence.ErrContended] if etcd was compacted past that revision; the
// client's own. Return them from the change.
func (tx *Tx) Get(ctx context.Context, key string) (value string, ok bool, err error) {
	if err := tx.check(key); err != nil {
		return "", false, err
	}
	if w, staged := tx.writes[key]; staged {
		if w == nil {
			return "", false, nil
		}
		return *w, true, nil
	}
	r, known := tx.reads[key]
	if !known {
		if r, err = tx.fetch(ctx, key); err != nil {
			return "", false, err
		}
		tx.reads[key] = r
	}
	return r.value, r.modified != 0, nil
}

func (tx *Tx) fetch(ctx context.Context, key string) (r readKey, err error) {
	resp, err := tx.kv.Get(ctx, tx.prefix+key, clientv3.WithRev(tx.at)) // 0 is the newest
	if errors.Is(err, rpctypes.ErrCompacted) {
		return r, fmt.Errorf("etcdkv: read %q in the change: %w: %w", key, fence.ErrContended, err)
	}
	if err != nil {
		return r, fmt.Errorf("etcdkv: read %q in the change: %w", key, err)
	}
	if tx.at == 0 {
		tx.at = resp.Header.Revision
	}
	for _, kv := range resp.Kvs {
		r = readKey{value: string(kv.Value), modified: kv.ModRevision}
	}
	return r, nil
}

// Put stages a write. A key that is not possible fails the whole Apply with [ErrBadKey].
func (tx *Tx) Put(key, value string) {
	if tx.check(key) == nil {
		tx.writes[key] = &value
	}
}

// Delete stages a deletion, also of a key that is not there. A key that is not possible
// fails the whole Apply with [ErrBadKey].
func (tx *Tx) Delete(key string) {
	if tx.check(key) == nil {
		tx.writes[key] = nil
	}
}

func (tx *Tx) check(key string) error {
	err := checkKey(key)
	if tx.err == nil {
		tx.err = err
	}
	return err
}

func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrBadKey)
	case isReserved(key):
		return fmt.Errorf("%w: %.80q: names that end in %q are the fence's own", ErrBadKey, key, reserved)
	}
	return nil
}

// unmoved is true if nothing that was read has changed.
func (tx *Tx) unmoved() (cmps []clientv3.Cmp) {
	for key, r := range tx.reads {
		cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(tx.prefix+key), "=", r.modified))
	}
	return cmps
}

func (tx *Tx) ops() (ops []clientv3.Op) {
	for _, key := range slices.Sorted(maps.Keys(tx.writes)) {
		if value := tx.writes[key]; value != nil {
			ops = append(ops, clientv3.OpPut(tx.prefix+key, *value))
		} else {
			ops = append(ops, clientv3.OpDelete(tx.prefix+key))
		}
	}
	return ops
}
