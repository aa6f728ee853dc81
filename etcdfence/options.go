package etcdfence

import (
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/etcdfence/etcdfence/fence"
)

// Options of an [Adapter]. A nil *Options and every zero field mean the default.
type Options struct {
	// Prefix of every lock's keys. The lock "orders/42" under "/locks" has its keys
	// at "/locks/orders%2F42/<lease>", where a raw mutex of
	// "/locks/orders%2F42" has its own. Default: none; the lock "orders" then has its
	// keys at "orders/<lease>", as a raw mutex of "orders" does. The prefix "/" puts
	// them at "/orders/<lease>".
	Prefix string

	// TTL asked for the lease, rounded up to whole seconds, at most 9,000,000,000 s.
	// etcd may grant more (its minimum is 2 s with default settings); the granted TTL
	// is what counts. Default: 10 s.
	TTL time.Duration

	// Margin by which a hold ends before its lease can: it must cover the difference
	// in clock rates over one TTL and the time a goroutine may wait for its turn. At
	// most half of the granted TTL is used. Default: a tenth of the granted TTL.
	Margin time.Duration

	// Epoch of the tokens. Raise it, in every process that uses the locks, after etcd
	// was restored from a backup; never lower it. Default: 0.
	Epoch int64

	// Owner is a label that tells people who holds: it is part of every token, and the
	// value of the lock's key begins with it; the time at which it queued follows. It is no
	// secret and decides nothing. Default: host:pid.
	Owner string

	// Logger for what happens in the background and for every hold that ends other
	// than by a release. Default: silent.
	Logger *zap.Logger
}

const (
	defaultTTL  = 10 * time.Second
	maxTTL      = 9_000_000_000 * time.Second // etcd refuses more (ErrLeaseTTLTooLarge)
	maxLabel    = fence.MaxOwner - 1 - 16     // a lease id takes up to 16 hex digits and a slash
	maxPrefix   = 1024
	returnGrace = 250 * time.Millisecond // how long a call may outlive its context
)

// settings are checked options.
type settings struct {
	prefix string
	ttl    time.Duration
	margin time.Duration // 0: a tenth of what is granted
	epoch  int64
	owner  string
	log    *zap.Logger
}

func (o *Options) settle() (settings, error) {
	if o == nil {
		o = &Options{}
	}
	s := settings{prefix: strings.TrimRight(o.Prefix, "/"), ttl: o.TTL, margin: o.Margin, epoch: o.Epoch,
		owner: o.Owner, log: o.Logger}
	if s.prefix != "" {
		if err := fence.CheckLock(s.prefix); err != nil && len(s.prefix) <= fence.MaxLock || len(s.prefix) > maxPrefix {
			return s, fmt.Errorf("%w: the prefix %.40q", ErrBadName, s.prefix)
		}
		s.prefix += "/"
	} else if o.Prefix == "/" {
		s.prefix = "/"
	} else if o.Prefix != "" {
		return s, fmt.Errorf("%w: the prefix %q has no name in it", ErrBadName, o.Prefix)
	}
	switch {
	case s.ttl < 0 || s.ttl > maxTTL:
		return s, fmt.Errorf("etcdfence: a TTL of %v is not possible", s.ttl)
	case s.ttl == 0:
		s.ttl = defaultTTL
	}
	if s.margin < 0 {
		return s, fmt.Errorf("etcdfence: a margin of %v is negative", s.margin)
	}
	if s.epoch < 0 {
		return s, fmt.Errorf("etcdfence: epoch %d is negative", s.epoch)
	}
	if s.owner == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		s.owner = fmt.Sprintf("%.200s:%d", host, os.Getpid())
	}
	if _, err := fence.NewToken("lock", 0, 1, s.owner); err != nil || len(s.owner) > maxLabel {
		return s, fmt.Errorf("%w: the owner label %.40q (at most %d bytes)", ErrBadName, s.owner, maxLabel)
	}
	if s.log == nil {
		s.log = zap.NewNop()
	}
	return s, nil
}

func (s settings) ttlSeconds() int64 { return int64(math.Ceil(s.ttl.Seconds())) }

// asked is the TTL as etcd is asked for it.
func (s settings) asked() time.Duration { return time.Duration(s.ttlSeconds()) * time.Second }

// marginOf is how long before the end of a lease of the granted TTL its holds end.
func (s settings) marginOf(granted time.Duration) time.Duration {
	if s.margin == 0 {
		return granted / 10
	}
	return min(s.margin, granted/2)
}

var escaper = strings.NewReplacer("%", "%25", "/", "%2F")

// keyPrefix is the prefix under which the keys of the named lock live, without the
// final slash: what a raw mutex would be made with. The name is escaped into one
// path segment, so that "a" and "a/b" are independent locks.
func (s settings) keyPrefix(name string) (string, error) {
	if err := fence.CheckLock(name); err != nil {
		return "", fmt.Errorf("%w: %w", ErrBadName, err)
	}
	return s.prefix + escaper.Replace(name), nil
}
