package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/etcdfence/etcdfence/examples/internal/recorded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLeader(t *testing.T) { recorded.Same(t, recorded.Run(t, run)) }
