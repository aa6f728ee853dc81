// Package redisfence_test runs the fence against real Redis servers: alone, with a replica,
// and as a cluster.
package redisfence_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/etcdfence/etcdfence/integration/redistest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(closing{m})
}

// closing ends the shared server before goroutines are counted.
type closing struct{ *testing.M }

func (m closing) Run() int {
	code := m.M.Run()
	if err := redistest.Close(); err != nil {
		println(err.Error())
		code = max(code, 1)
	}
	return code
}
