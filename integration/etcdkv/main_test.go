// Package etcdkv_test runs etcd as a fenced resource, in the same cluster as the locks,
// together with everything else: holders that overlap, servers that are killed, histories
// and sequences that are made up.
package etcdkv_test

import (
	"testing"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }
