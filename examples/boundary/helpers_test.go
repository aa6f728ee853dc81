package boundary

import (
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
