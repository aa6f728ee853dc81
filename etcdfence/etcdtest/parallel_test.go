package etcdtest_test

import (
	"fmt"
	"testing"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// Tests in parallel, each with a server of its own that stops and starts.
func TestParallel(t *testing.T) {
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			s := etcdtest.Start(t)
			for n := range 150 {
				s.Put(t, "k", fmt.Sprint(i, n))
			}
			snap := s.Snapshot(t)
			for range 3 {
				s.Restart(t)
				// The kit's client is connected again: no retry.
				if _, err := s.Client().Put(t.Context(), "k", "x"); err != nil {
					t.Error(err)
				}
			}
			s.RollBack(t, snap)
			if v, _ := get(t, s.Client(), "k"); v != fmt.Sprint(i, 149) {
				t.Errorf("value %q", v)
			}
		})
	}
}
