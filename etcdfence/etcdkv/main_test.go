package etcdkv_test

import (
	"testing"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }
