package redisfence

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// checkClient refuses what cannot keep a mark, or a promise about time.
func checkClient(client redis.UniversalClient) error {
	bounded := true
	switch c := client.(type) {
	case nil:
		return errors.New("redisfence: client is nil")
	case *redis.Client:
		if c == nil {
			return errors.New("redisfence: client is nil")
		}
		bounded = c.Options().ReadTimeout > 0 || c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		if c == nil {
			return errors.New("redisfence: client is nil")
		}
		bounded = c.Options().ReadTimeout > 0 || c.Options().ContextTimeoutEnabled
	case *redis.Ring:
		return errors.New("redisfence: a Ring looks for a key on another server when its own is down, where there is no mark")
	}
	if !bounded {
		return errors.New("redisfence: the client waits for ever: set ReadTimeout or ContextTimeoutEnabled")
	}
	return nil
}

// checkEviction refuses a Redis that may drop the mark. It asks the master that has it,
// by INFO: managed ones often forbid CONFIG.
func (r *Resource) checkEviction(ctx context.Context) error {
	var from redis.Cmdable = r.client
	if cluster, ok := r.client.(*redis.ClusterClient); ok {
		master, err := cluster.MasterForKey(ctx, r.keys[0])
		if err != nil {
			return unread(ctx, "ask for the master", err)
		}
		from = master
	}
	info, err := from.Info(ctx, "memory").Result()
	if err != nil {
		return unread(ctx, "ask whether marks are evicted (see Options.NoCheck)", err)
	}
	facts := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		facts[name] = value
	}
	policy := facts["maxmemory_policy"]
	if strings.HasPrefix(policy, "allkeys-") && facts["maxmemory"] != "0" {
		return fmt.Errorf("%w: the maxmemory-policy is %s, at %s bytes", ErrEvicts, policy, facts["maxmemory"])
	}
	return nil
}
