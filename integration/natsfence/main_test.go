// Package natsfence_test runs the fence against real nats-servers: in a child that can be
// killed, inside the test process, and three of them with a replicated stream.
package natsfence_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/etcdfence/etcdfence/integration/natstest"
)

func TestMain(m *testing.M) {
	natstest.Main()
	goleak.VerifyTestMain(m)
}
