package etcdkv

import (
	"strconv"
	"strings"

	"github.com/etcdfence/etcdfence/fence"
)

// LockKey returns the function for [Options].LockKey that fits the locks of an adapter
// with the given Options.Prefix, or a raw mutex under that prefix whose token comes from
// TokenOf. The key of a hold is the prefix, the lock's name as one path segment, and the
// lease, which the token's owner begins with.
//
// The epoch takes no part. A restore of etcd that has brought the hold back has brought
// its key back too, with the same revision, and one that has not has neither; the marks
// decide between epochs.
//
// It must be the cluster that issues the locks: in another one no hold has a key, and
// everything is refused.
func LockKey(prefix string) func(fence.Token) string {
	all := strings.TrimRight(prefix, "/")
	if prefix != "" {
		all += "/"
	}
	return func(t fence.Token) string {
		lease, _, _ := strings.Cut(t.Owner(), "/")
		if id, err := strconv.ParseInt(lease, 16, 64); err != nil || id == 0 {
			return ""
		}
		return all + escape.Replace(t.Lock()) + "/" + lease
	}
}

// escape is how the adapter makes one path segment of a lock's name.
var escape = strings.NewReplacer("%", "%25", "/", "%2F")
