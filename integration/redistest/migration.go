package redistest

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// Migration is a slot on its way from one node of a cluster to another.
type Migration struct {
	cluster  *Cluster
	slot     int64
	from, to *redis.Client
	at       *Server // that the slot goes to
	id       string  // its
}

// Migrate begins to move the slot of a key to another node. No key goes by itself.
func (c *Cluster) Migrate(t testing.TB, key string) *Migration {
	t.Helper()
	owner := c.Owner(t, key)
	m := &Migration{cluster: c, from: owner.Client(t)}
	for _, s := range c.Nodes {
		if s != owner {
			m.at, m.to = s, s.Client(t)
		}
	}
	var err error
	m.slot, err = m.from.ClusterKeySlot(t.Context(), key).Result()
	must(t, err)
	source, err := m.from.ClusterMyID(t.Context()).Result()
	must(t, err)
	m.id, err = m.to.ClusterMyID(t.Context()).Result()
	must(t, err)
	must(t, m.to.Do(t.Context(), "cluster", "setslot", m.slot, "importing", source).Err())
	must(t, m.from.Do(t.Context(), "cluster", "setslot", m.slot, "migrating", m.id).Err())
	return m
}

// Key moves one key. One that is missing does not matter.
func (m *Migration) Key(t testing.TB, key string) {
	t.Helper()
	host, port := split(t, m.at.addr)
	must(t, m.from.Do(t.Context(), "migrate", host, port, key, 0, 5000).Err())
}

// Finish gives the slot to the other node. All its keys must be there.
func (m *Migration) Finish(t testing.TB) {
	t.Helper()
	for _, node := range []*redis.Client{m.to, m.from} {
		must(t, node.Do(t.Context(), "cluster", "setslot", m.slot, "node", m.id).Err())
	}
}
