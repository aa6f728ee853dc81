// Package soak_test runs a lock for a while without any fault: nothing may go wrong
// then, and nothing may be refused.
package soak_test

import (
	"testing"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }
