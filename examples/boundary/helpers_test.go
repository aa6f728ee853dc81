package boundary

import (
	"path"
	"strconv"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/etcdfence"
)

func newAdapter(t *testing.T, client *clientv3.Client) *etcdfence.Adapter {
	t.Helper()
	a, err := etcdfence.New(client, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// lease is the lease of a hold: the last segment of its key names it.
func lease(t *testing.T, h *etcdfence.Hold) clientv3.LeaseID {
	t.Helper()
	id, err := strconv.ParseInt(path.Base(h.Key()), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return clientv3.LeaseID(id)
}
