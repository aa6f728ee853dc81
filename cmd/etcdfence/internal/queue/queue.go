// Package queue reads who holds a lock and who waits for it, from the keys that etcd's own
// recipe makes: those of this library, of a raw mutex or election, and of etcdctl alike.
package queue

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/etcdfence"
)

// Lock is one lock and its queue.
type Lock struct {
	Name    string
	Raw     bool    // no adapter with this prefix makes such keys; Name is their prefix
	Entries []Entry // never empty; the first one holds the lock, the others wait in this order
}

// Entry is one key of a lock.
type Entry struct {
	Key      string
	Owner    string    // who made the key, if this library did
	Since    time.Time // when, by the maker's own clock; zero if it does not say
	Lease    clientv3.LeaseID
	Revision int64         // the key's create revision: the token's, once it holds
	Granted  time.Duration // the lease's TTL; 0 if the lease is gone already
	Left     time.Duration // of it, unless it is renewed
}

// Who names the entry for people.
func (e Entry) Who() string {
	if e.Owner == "" {
		return fmt.Sprintf("lease %x", int64(e.Lease))
	}
	return e.Owner
}

// label splits the value of a key: the owner, and after the last space since when.
func label(value string) (owner string, since time.Time) {
	if i := strings.LastIndexByte(value, ' '); i >= 0 {
		if t, err := time.Parse(time.RFC3339Nano, value[i+1:]); err == nil {
			return value[:i], t
		}
	}
	return value, time.Time{}
}

// page is how many keys one request reads.
const page = 500

// Read returns the named lock, or all locks below the prefix if name is empty, in the
// order of their names. A lock that nobody holds is not there. Keys that no lock recipe
// makes are left out.
func Read(ctx context.Context, client *clientv3.Client, opts *etcdfence.Options, name string) ([]Lock, error) {
	from := opts.Prefix
	if name != "" {
		raw, err := opts.KeyPrefix(name)
		if err != nil {
			return nil, err
		}
		from = raw + "/"
	} else if from != "" && !strings.HasSuffix(from, "/") {
		from += "/"
	}
	kvs, err := readAll(ctx, client, from)
	if err != nil {
		return nil, err
	}
	var locks []Lock
	at := map[string]int{}
	for _, kv := range kvs {
		prefix, ours := cut(kv)
		if !ours || name != "" && prefix+"/" != from {
			continue
		}
		i, known := at[prefix]
		if !known {
			i = len(locks)
			at[prefix] = i
			lock := Lock{Name: prefix, Raw: true}
			if name, _, ok := opts.ParseKey(string(kv.Key)); ok {
				lock.Name, lock.Raw = name, false
			}
			locks = append(locks, lock)
		}
		owner, since := label(string(kv.Value))
		locks[i].Entries = append(locks[i].Entries, Entry{Key: string(kv.Key), Owner: owner, Since: since,
			Lease: clientv3.LeaseID(kv.Lease), Revision: kv.CreateRevision})
	}
	sortAll(locks)
	return locks, leases(ctx, client, locks)
}

// readAll reads whole keys: an answer without the values lacks the leases (etcd issue
// 22209). All pages are of one revision, so that no queue is torn.
func readAll(ctx context.Context, client *clientv3.Client, prefix string) (kvs []*mvccpb.KeyValue, err error) {
	key, opts := prefix, []clientv3.OpOption{clientv3.WithPrefix()}
	if prefix == "" {
		key, opts = "\x00", []clientv3.OpOption{clientv3.WithFromKey()}
	}
	end := clientv3.GetPrefixRangeEnd(prefix)
	opts = append(opts, clientv3.WithLimit(page))
	for {
		resp, err := client.Get(ctx, key, opts...)
		if err != nil {
			return nil, err
		}
		kvs = append(kvs, resp.Kvs...)
		if !resp.More {
			return kvs, nil
		}
		key = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
		opts = []clientv3.OpOption{clientv3.WithLimit(page), clientv3.WithRev(resp.Header.Revision)}
		if prefix == "" {
			opts = append(opts, clientv3.WithFromKey())
		} else {
			opts = append(opts, clientv3.WithRange(end))
		}
	}
}

// cut returns what the key of a lock begins with: those keys end in the hexadecimal id of
// the lease that they hang on.
func cut(kv *mvccpb.KeyValue) (prefix string, ok bool) {
	key := string(kv.Key)
	slash := strings.LastIndexByte(key, '/')
	if slash < 0 || kv.Lease == 0 || key[slash+1:] != strconv.FormatInt(kv.Lease, 16) {
		return "", false
	}
	return key[:slash], true
}
