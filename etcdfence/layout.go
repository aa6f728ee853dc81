package etcdfence

import (
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// KeyPrefix returns what the keys of the named lock begin with, without the final slash:
// what a raw mutex or election of the same lock is made with. It returns [ErrBadName] for
// a name or a prefix that cannot be one.
func (o *Options) KeyPrefix(name string) (string, error) {
	set, err := o.settle()
	if err != nil {
		return "", err
	}
	return set.keyPrefix(name)
}

// ParseKey tells which lock a key belongs to, and the lease that its name says it hangs on:
// it is the inverse of KeyPrefix for all keys that an [Adapter] with these options makes.
// It returns false for every other key, such as that of a raw mutex whose name nests.
func (o *Options) ParseKey(key string) (name string, lease clientv3.LeaseID, ok bool) {
	set, err := o.settle()
	if err != nil {
		return "", 0, false
	}
	rest, below := strings.CutPrefix(key, set.prefix)
	segment, hex, two := strings.Cut(rest, "/")
	id, err := strconv.ParseInt(hex, 16, 64)
	if !below || !two || err != nil || id <= 0 || strconv.FormatInt(id, 16) != hex {
		return "", 0, false
	}
	name = unescaper.Replace(segment)
	if again, err := set.keyPrefix(name); err != nil || again != set.prefix+segment {
		return "", 0, false
	}
	return name, clientv3.LeaseID(id), true
}

// label is the value of a lock's key: for people, who want to know who waits since when.
// Nothing reads it to decide, least of all the time, which is this machine's.
func (a *Adapter) label() string {
	return a.set.owner + " " + time.Now().UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

var unescaper = strings.NewReplacer("%2F", "/", "%25", "%")
