package etcdtest

import (
	"bytes"
	"os"
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

// newLogger returns a logger for one run of a server and the function that ends
// it. Whatever the level, the last words of an etcd that gives up, which ends the
// process, go to the standard error: a silent exit would be a riddle.
func newLogger(t testing.TB, level *zapcore.Level) (*zap.Logger, func()) {
	enc := zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig())
	lastWords := zapcore.NewCore(enc, zapcore.Lock(os.Stderr), zapcore.PanicLevel)
	if level == nil {
		return zap.New(lastWords), func() {}
	}
	w := &testLog{t: t}
	return zap.New(zapcore.NewTee(lastWords, zapcore.NewCore(enc, w, *level))), w.close
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
