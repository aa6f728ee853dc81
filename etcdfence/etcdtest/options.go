package etcdtest

import (
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap/zapcore"
)

// An Option changes how Start and StartCluster run their servers. The zero set
// is meant to be right: etcd's own timing, no fsync, no log, leak check on.
type Option func(*settings)

type settings struct {
	fsync     bool
	fast      bool
	keepConns bool
	log       *zapcore.Level
	patience  time.Duration
	tune      []func(*embed.Config)
}

func newSettings(opts []Option) settings {
	s := settings{patience: 20 * time.Second}
	for _, opt := range opts {
		opt(&s)
	}
	return s
}

// WithFsync makes every write wait for the disk, as in production. Without it
// the files are written but not flushed, which loses nothing when a test stops
// or kills the server, and is several times faster. Use it for measurements.
func WithFsync() Option { return func(s *settings) { s.fsync = true } }

// WithFastLeases shortens etcd's election timeout from 1000 ms to 500 ms and
// the heartbeat from 100 ms to 50 ms, so that the smallest lease that the server
// grants is 1 s instead of 2 s (the minimum is one and a half election timeouts,
// in whole seconds). The server still looks for expired leases twice a second
// only: a TTL of 1 s ends after 1.0 to 1.6 s. Start is faster too. Do not use
// it in a test that is about the TTL which production would grant.
func WithFastLeases() Option { return func(s *settings) { s.fast = true } }

// WithLog sends the server's log from the given level on to the test's log. It
// ends when the server stops.
func WithLog(level zapcore.Level) Option { return func(s *settings) { s.log = &level } }

// WithPatience bounds everything that waits, such as WaitGone and the start
// itself, to d instead of 20 s. When it runs out the test fails.
func WithPatience(d time.Duration) Option { return func(s *settings) { s.patience = d } }

// WithOpenClients accepts that clients which the kit did not make are still
// connected when the test ends. Without it that fails the test: a client that
// the code under test forgot to close is a leak of connections and goroutines.
func WithOpenClients() Option { return func(s *settings) { s.keepConns = true } }

// WithConfig lets the test change etcd's configuration before each start, for
// example SnapshotCount or QuotaBackendBytes. Names, directories and addresses
// belong to the kit: leave them.
func WithConfig(change func(*embed.Config)) Option {
	return func(s *settings) { s.tune = append(s.tune, change) }
}
