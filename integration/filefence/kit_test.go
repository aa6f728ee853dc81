// Package filefence_test looks at histories of filefence; the other tests stand beside it.
package filefence_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/fencetest"
	"github.com/etcdfence/etcdfence/fence/filefence"
	"github.com/etcdfence/etcdfence/integration/kit"
)

func TestLinearizable(t *testing.T) { kit.Linearizable(t, newSubject) }

func TestSequences(t *testing.T) { kit.Sequences(t, newSubject) }

type subject struct {
	dir  string
	file *filefence.Resource
}

func newSubject(context.Context) (fencetest.Subject[*filefence.Tx], error) {
	dir, err := os.MkdirTemp("", "filefence")
	if err != nil {
		return nil, err
	}
	s := &subject{dir: dir}
	s.file, err = s.another()
	return s, err
}

func (s *subject) another() (*filefence.Resource, error) {
	return filefence.Open(filepath.Join(s.dir, "file"), s.Lock(), nil)
}

func (s *subject) Resource() fence.FencedResource[*filefence.Tx] { return s.file }
func (s *subject) Lock() string                                  { return "orders/42" }
func (s *subject) Operations()                                   {}
func (s *subject) Close() error                                  { return os.RemoveAll(s.dir) }

func (s *subject) Share(context.Context) (fence.FencedResource[*filefence.Tx], error) {
	return s.another()
}

func (s *subject) Write(_ context.Context, tx *filefence.Tx, value string) error {
	tx.SetBody([]byte(value))
	return nil
}

func (s *subject) Read(ctx context.Context) (string, error) {
	body, err := s.file.Body(ctx)
	return string(body), err
}
