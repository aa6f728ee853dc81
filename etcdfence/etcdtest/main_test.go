package etcdtest_test

import (
	"os"
	"testing"

	"go.etcd.io/etcd/server/v3/etcdmain"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// asEtcd makes the test binary an etcd: the process tests have no other at hand.
const asEtcd = "ETCDTEST_AS_ETCD"

func TestMain(m *testing.M) {
	if os.Getenv(asEtcd) != "" {
		etcdmain.Main(os.Args)
		return
	}
	etcdtest.Main(m)
}
