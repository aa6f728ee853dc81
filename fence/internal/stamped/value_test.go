package stamped

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

func stamp(t testing.TB, lock, owner string, epoch, revision, sequence int64) fence.Stamp {
	t.Helper()
	tok, err := fence.NewToken(lock, epoch, revision, owner)
	if err != nil {
		t.Fatal(err)
	}
	return tok.At(sequence)
}

func values(t testing.TB) []Value {
	mark := stamp(t, "orders/42", "694d81/web-7:4711", 0, 53, 7)
	wide := stamp(t, " \"é%\u2028", strings.Repeat("o", fence.MaxOwner), 1<<62, 1<<63-1, 1<<53+1)
	return []Value{
		{Mark: mark, Call: "A"},
		{Mark: mark, Call: "A", Body: []byte("body\nof two lines\n")},
		{Mark: mark, Body: []byte{0, 0xff, '\n', '\r'}},
		{Mark: wide, Call: "B", Body: []byte("{}"), Operations: []Operation{
			{ID: "pay", Stamp: mark}, {ID: "\"é\u2028<&>", Stamp: wide, Result: []byte{}}, {ID: "b", Stamp: mark, Result: []byte{0, '\n'}}}},
	}
}

// The form is a contract with the values that are stored already.
func TestSpelling(t *testing.T) {
	v := values(t)[1]
	v.Operations = []Operation{{ID: "pay", Stamp: v.Mark, Result: []byte("ok")}}
	data, err := v.Encode()
	const want = `{"etcdfence":1,"mark":"v1;e=0;r=53;s=7;o=694d81%2Fweb-7:4711;l=orders%2F42","call":"A",` +
		`"operations":[{"id":"pay","stamp":{"lock":"orders/42","epoch":"0","revision":"53","sequence":"7",` +
		`"owner":"694d81/web-7:4711"},"result":"b2s="}]}` + "\nbody\nof two lines\n"
	if err != nil || string(data) != want {
		t.Errorf("got  %s, %v\nwant %s", data, err, want)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, v := range values(t) {
		data, err := v.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(data)
		if err != nil || !same(got, v) {
			t.Errorf("stored %+v, got %+v, %v", v, got, err)
		}
	}
	if _, err := (Value{}).Encode(); err == nil {
		t.Error("a value without a mark is stored")
	}
}

func same(a, b Value) bool {
	return a.Mark == b.Mark && a.Call == b.Call && bytes.Equal(a.Body, b.Body) &&
		slices.EqualFunc(a.Operations, b.Operations, func(x, y Operation) bool {
			return x.ID == y.ID && x.Stamp == y.Stamp && bytes.Equal(x.Result, y.Result) && (x.Result == nil) == (y.Result == nil)
		})
}

// What cannot be read is never a value without a mark.
func FuzzDecode(f *testing.F) {
	for _, v := range values(f) {
		data, _ := v.Encode()
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Add([]byte(""))
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"etcdfence":1,"mark":"","call":""}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Decode(data)
		if err != nil {
			if !errors.Is(err, ErrForeign) || len(err.Error()) > 1000 {
				t.Fatalf("got an error of %d bytes: %.200v", len(err.Error()), err)
			}
			return
		}
		if v.Mark.IsZero() {
			t.Fatalf("%q has no mark", data)
		}
		again, err := v.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Decode(again); err != nil || !same(got, v) {
			t.Fatalf("%q became %+v, %v", data, got, err)
		}
	})
}

// Lists are shared by what was stored and what is going to be.
func TestRecordNeverWritesIntoAList(t *testing.T) {
	list := make([]Operation, 0, 8)
	for _, id := range []string{"a", "b", "c"} {
		list = append(list, Operation{ID: id})
	}
	one, two := record(list, Operation{ID: "x"}, 10), record(list, Operation{ID: "y"}, 10)
	if one[3].ID != "x" || two[3].ID != "y" || len(list) != 3 {
		t.Fatalf("%v and %v share an array", one, two)
	}
	if last := record(list, Operation{ID: "z"}, 2); len(last) != 2 || last[0].ID != "c" || last[1].ID != "z" {
		t.Fatalf("of the newest two are left: %v", last)
	}
	if last := record(list, Operation{ID: "z"}, 1); len(last) != 1 || last[0].ID != "z" {
		t.Fatalf("of the newest one is left: %v", last)
	}
}
