// Package interop_test puts the adapter into one queue with everybody else who uses
// etcd's lock recipe: a fleet that changes over is mixed for a while. They must
// exclude us and we them, on the same prefix, in one order.
package interop_test

import (
	"os"
	"testing"

	"go.etcd.io/etcd/server/v3/etcdmain"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// asEtcd makes the test binary the etcd that is linked into it.
const asEtcd = "INTEROP_AS_ETCD"

func TestMain(m *testing.M) {
	if os.Getenv(asEtcd) != "" {
		etcdmain.Main(os.Args)
		return
	}
	etcdtest.Main(m)
}
