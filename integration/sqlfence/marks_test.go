package sqlfence_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/sqlfence"
)

// All marks are listed, by byte order whatever the database's collation, and no others.
func TestMarks(t *testing.T) {
	onAllStores(t, func(t *testing.T, s *site) {
		if marks, err := s.marks.Marks(t.Context()); err != nil || len(marks) != 0 {
			t.Fatalf("%v, %v", marks, err)
		}
		want := []fence.Stamp{}
		for _, name := range []string{"B", "a", "ab", "b", "é"} {
			token, err := fence.NewToken(name, 3, 1<<62+1, "owner of "+name)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, token.At(0))
		}
		for _, i := range []int{3, 0, 4, 1, 2} {
			if err := s.marks.Claim(t.Context(), want[i].Token()); err != nil {
				t.Fatal(err)
			}
		}
		if marks, err := s.marks.Marks(t.Context()); err != nil || !slices.Equal(marks, want) {
			t.Errorf("got %v, %v, want %v", marks, err, want)
		}
		s.exec(t, "UPDATE fence_marks SET owner = '' WHERE lock_name = 'ab'")
		if marks, err := s.marks.Marks(t.Context()); !errors.Is(err, fence.ErrBadToken) {
			t.Errorf("a damaged mark is read as %v, %v", marks, err)
		}
		s.exec(t, "DROP TABLE fence_marks")
		if marks, err := s.marks.Marks(t.Context()); !errors.Is(err, sqlfence.ErrSchema) {
			t.Errorf("without a table: %v, %v", marks, err)
		}
	})
}
