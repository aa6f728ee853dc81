package natsfence_test

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/etcdfence/etcdfence/fence"
	"github.com/etcdfence/etcdfence/fence/natsfence"
)

// Deleting the key loses the mark. That is not taken for a first write.
func TestDeletedKeyIsNoFirstWrite(t *testing.T) {
	for name, remove := range map[string]func(*testing.T, jetstream.KeyValue){
		"delete": func(t *testing.T, kv jetstream.KeyValue) { must(t, kv.Delete(t.Context(), key)) },
		"purge":  func(t *testing.T, kv jetstream.KeyValue) { must(t, kv.Purge(t.Context(), key)) },
	} {
		t.Run(name, func(t *testing.T) {
			js, kv := fresh(t)
			r := open(t, js, nil)
			must(t, r.Apply(t.Context(), at(t, 5, 1), set("one")))
			remove(t, kv)
			for _, handle := range []*natsfence.Resource{r, open(t, js, nil)} {
				mustBe(t, handle.Apply(t.Context(), at(t, 5, 2), set("two")), natsfence.ErrDeleted)
				mustBe(t, handle.Apply(t.Context(), at(t, 3, 1), set("old")), natsfence.ErrDeleted)
				mustBe(t, handle.Claim(t.Context(), at(t, 9, 0).Token()), natsfence.ErrDeleted)
				_, err := handle.Mark(t.Context(), lock)
				mustBe(t, err, natsfence.ErrDeleted)
				_, err = handle.Body(t.Context())
				mustBe(t, err, natsfence.ErrDeleted)
				mustBe(t, handle.Apply(t.Context(), fence.Stamp{}, set("none")), fence.ErrNoToken)
				mustBe(t, handle.Rebase(t.Context(), at(t, 5, 1), at(t, 6, 0)), natsfence.ErrDeleted)
			}
			// An operator who knows says where the marks begin anew.
			must(t, r.Rebase(t.Context(), fence.Stamp{}, at(t, 5, 1)))
			mustBe(t, r.Apply(t.Context(), at(t, 3, 1), set("old")), fence.ErrStale)
			must(t, r.Apply(t.Context(), at(t, 5, 2), set("two")))
			if got := body(t, r); got != "two" {
				t.Fatalf("the body is %q", got)
			}
		})
	}
}

// Not even the marker is left. Who has seen the key knows; nobody else can.
func TestVanishedKey(t *testing.T) {
	js, kv := fresh(t)
	r := open(t, js, nil)
	must(t, r.Apply(t.Context(), at(t, 5, 1), set("one")))
	must(t, kv.Delete(t.Context(), key))
	must(t, kv.PurgeDeletes(t.Context(), jetstream.DeleteMarkersOlderThan(-1)))
	mustBe(t, r.Apply(t.Context(), at(t, 3, 1), set("old")), natsfence.ErrDeleted)
	must(t, r.Rebase(t.Context(), fence.Stamp{}, at(t, 5, 1)))
	must(t, r.Apply(t.Context(), at(t, 5, 2), set("two")))
}

func TestBucketMadeAnew(t *testing.T) {
	js, kv := fresh(t)
	r := open(t, js, nil)
	for range 3 {
		_, err := kv.PutString(t.Context(), "other", "")
		must(t, err)
	}
	must(t, r.Apply(t.Context(), at(t, 5, 1), set("one")))
	must(t, js.DeleteKeyValue(t.Context(), bucket))
	_, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: bucket})
	must(t, err)
	must(t, open(t, js, nil).Apply(t.Context(), at(t, 1, 1), set("anew")))
	mustBe(t, r.Apply(t.Context(), at(t, 5, 2), set("two")), natsfence.ErrWentBack)
	if got := body(t, open(t, js, nil)); got != "anew" {
		t.Fatalf("the body is %q", got)
	}
}

// Data from before the fence, or written around it.
func TestForeignValue(t *testing.T) {
	js, kv := fresh(t)
	for _, foreign := range []string{"", "plain", "{}", "{}\nbody", `{"etcdfence":2,"mark":"","call":""}` + "\n",
		`{"etcdfence":1,"mark":"v1;e=0;r=5;s=1;o=o;l=orders%2F42","call":""}`,
		`{"etcdfence":1,"mark":"v1;e=0;r=5;s=1;o=o;l=orders%2F42","call":"","x":1}` + "\n",
		`{"etcdfence":1,"mark":"","call":""}` + "\n", "\n"} {
		_, err := kv.PutString(t.Context(), key, foreign)
		must(t, err)
		r := open(t, js, nil)
		mustBe(t, r.Apply(t.Context(), at(t, 5, 1), set("one")), natsfence.ErrForeign)
		mustBe(t, r.Claim(t.Context(), at(t, 5, 0).Token()), natsfence.ErrForeign)
		_, err = r.Mark(t.Context(), lock)
		mustBe(t, err, natsfence.ErrForeign)
		must(t, r.Rebase(t.Context(), fence.Stamp{}, at(t, 5, 0)))
		if got := body(t, r); got != foreign {
			t.Fatalf("the body is %q, and was %q", got, foreign)
		}
		must(t, r.Apply(t.Context(), at(t, 5, 1), set("one")))
	}
}

// Somebody writes around the fence while this handle remembers the value.
func TestPlainPutIsNoticed(t *testing.T) {
	js, kv := fresh(t)
	r := open(t, js, nil)
	must(t, r.Apply(t.Context(), at(t, 5, 1), set("one")))
	_, err := kv.PutString(t.Context(), key, "around the fence")
	must(t, err)
	mustBe(t, r.Apply(t.Context(), at(t, 5, 2), set("two")), natsfence.ErrForeign)
}

func TestGuardedByAnotherLock(t *testing.T) {
	js, _ := fresh(t)
	must(t, open(t, js, nil).Claim(t.Context(), at(t, 5, 0).Token()))
	other, err := natsfence.Open(t.Context(), js, bucket, key, "another", nil)
	must(t, err)
	tok, err := fence.NewToken("another", 0, 9, "o")
	must(t, err)
	mustBe(t, other.Claim(t.Context(), tok), fence.ErrWrongLock)
	mustBe(t, other.Apply(t.Context(), tok.At(1), set("v")), fence.ErrWrongLock)
	_, err = other.Mark(t.Context(), "another")
	mustBe(t, err, fence.ErrWrongLock)
}
