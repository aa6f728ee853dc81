package etcdtest

import (
	"bytes"
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// testLog writes to a test's log until it is closed. A server that is being
// torn down may still log when the test is over, and testing panics on that.
type testLog struct {
	mu sync.Mutex
	t  testing.TB
}

// newLogger returns a logger for one run of a server and the function that ends it.
func newLogger(t testing.TB, level *zapcore.Level) (*zap.Logger, func()) {
	if level == nil {
		return zap.NewNop(), func() {}
	}
	w := &testLog{t: t}
	enc := zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig())
	return zap.New(zapcore.NewCore(enc, w, *level)), w.close
}

// Write implements zapcore.WriteSyncer.
func (w *testLog) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Logf("%s", bytes.TrimRight(p, "\n"))
	}
	return len(p), nil
}

// Sync implements zapcore.WriteSyncer.
func (w *testLog) Sync() error { return nil }

func (w *testLog) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t = nil
}
