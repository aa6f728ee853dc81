package etcdctl

import (
	"testing"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

func TestMain(m *testing.M) {
	Quiet()
	etcdtest.Main(m)
}
