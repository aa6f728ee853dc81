package etcdfence_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/fence"
)

// T16 (etcd website 710, etcd 6284): names that nest are independent locks. With raw
// mutexes the holder of "foo/bar" blocks "foo".
func TestT16NestedNames(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	names := []string{"foo", "foo/bar", "foo/", "/foo", "foo%2Fbar", "foo/bar/baz", "%", "日本"}
	a, b := adapter(t, server.NewClient(t), nil), adapter(t, server.NewClient(t), nil)
	var holds []*etcdfence.Hold
	for _, name := range names {
		h, err := a.TryLock(ctx, name)
		if err != nil {
			t.Fatalf("TryLock(%q) while %q are held: %v", name, names[:len(holds)], err)
		}
		if h.Lock() != name || h.Token().Lock() != name {
			t.Fatalf("the hold of %q is called %q, its token %q", name, h.Lock(), h.Token().Lock())
		}
		holds = append(holds, h)
	}
	for i, h := range holds {
		for j, name := range names[i:] {
			if _, err := b.TryLock(ctx, name); !isAll(err, etcdfence.ErrLocked, concurrency.ErrLocked) {
				t.Fatalf("TryLock(%q) while it is held: %v", names[i+j], err)
			}
		}
		release(t, h)
		release(t, lock(t, b, names[i]))
		for _, still := range holds[i+1:] {
			if err := still.Verify(ctx); err != nil {
				t.Fatalf("after %q was released: %v", names[i], err)
			}
		}
	}
}

// The keys are those of a raw mutex, with the name in one segment.
func TestKeyLayout(t *testing.T) {
	server := start(t)
	for _, test := range []struct{ prefix, name, raw string }{
		{"", "orders", "orders"},
		{"", "orders/42", "orders%2F42"},
		{"/locks", "orders", "/locks/orders"},
		{"/locks/", "100%", "/locks/100%25"},
		{"/", "orders", "/orders"},
		{"team/locks", "a/b", "team/locks/a%2Fb"},
	} {
		a := adapter(t, server.NewClient(t), &etcdfence.Options{Prefix: test.prefix, Owner: "worker 7"})
		h := lock(t, a, test.name)
		s, err := concurrency.NewSession(server.NewClient(t))
		if err != nil {
			t.Fatal(err)
		}
		raw := concurrency.NewMutex(s, test.raw)
		mustBe(t, raw.TryLock(within(t, time.Second)), concurrency.ErrLocked)
		if want := server.Queue(t, test.raw+"/"); len(want) != 1 || want[0] != h.Key() {
			t.Errorf("lock %q under %q has the key %q, a raw mutex would look at %q", test.name, test.prefix, h.Key(), want)
		}
		resp, err := server.Client().Get(within(t, time.Second), h.Key())
		if err != nil {
			t.Fatal(err)
		}
		since, ok := strings.CutPrefix(string(resp.Kvs[0].Value), "worker 7 ")
		if at, err := time.Parse(time.RFC3339Nano, since); !ok || err != nil || time.Since(at) > time.Minute {
			t.Errorf("the key says %q", resp.Kvs[0].Value)
		}
		release(t, h)
		_ = s.Close()
	}
}

// A key that no lock recipe made is named at once, not waited for without end, and
// our own key does not stay behind it.
func TestForeignKey(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	a := adapter(t, server.NewClient(t), nil)

	s, err := concurrency.NewSession(server.NewClient(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	nested := concurrency.NewMutex(s, "nested/bar")
	if err := nested.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	server.Put(t, "config/retries", "3")
	server.Put(t, "lookalike/123abc", "no lease")

	for name, key := range map[string]string{"config": "config/retries", "lookalike": "lookalike/123abc", "nested": nested.Key()} {
		for _, try := range []func() (*etcdfence.Hold, error){
			func() (*etcdfence.Hold, error) { return a.Lock(ctx, name) },
			func() (*etcdfence.Hold, error) { return a.TryLock(ctx, name) },
		} {
			_, err := try()
			mustBe(t, err, etcdfence.ErrForeignKey)
			if fk := as[*etcdfence.ForeignKeyError](t, err); fk.Key != key || fk.Lock != name {
				t.Errorf("%q is in the way of %q, want %q", fk.Key, fk.Lock, key)
			}
		}
		if got := server.Queue(t, name+"/"); len(got) != 1 {
			t.Errorf("left in the queue: %q", got)
		}
	}
	server.DeleteKey(t, "config/retries")
	release(t, lock(t, a, "config"))
}

// A foreign key that comes later, behind the holder, is met by the next waiter.
func TestForeignKeyInTheQueue(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	h := lock(t, adapter(t, server.NewClient(t), nil), "foo")
	server.Put(t, "foo/note", "do not touch")
	waiter := lockLater(t, ctx, adapter(t, server.NewClient(t), nil), "foo")
	server.WaitQueued(t, "foo/", 2)
	release(t, h)
	_, err := waiter.wait(t, 10*time.Second)
	mustBe(t, err, etcdfence.ErrForeignKey)
}

func TestBadNames(t *testing.T) {
	server := start(t)
	ctx := within(t, time.Minute)
	client := server.NewClient(t)
	a := adapter(t, client, nil)
	for _, name := range []string{"", strings.Repeat("x", fence.MaxLock+1), "a\x00b", "a\nb", "\xff", "a\x7f"} {
		_, err := a.Lock(ctx, name)
		mustBe(t, err, etcdfence.ErrBadName, fence.ErrBadToken)
		_, err = a.TryLock(ctx, name)
		mustBe(t, err, etcdfence.ErrBadName)
	}
	longest := strings.Repeat("/", fence.MaxLock) // three bytes each in the key
	release(t, lock(t, a, longest))

	if n := server.Revision(t); n > 3 {
		t.Errorf("bad names reached etcd: revision %d", n)
	}
}

func TestBadOptions(t *testing.T) {
	client := start(t).NewClient(t)
	if _, err := etcdfence.New(nil, nil); err == nil {
		t.Error("a nil client was accepted")
	}
	for _, test := range []struct {
		what string
		opts etcdfence.Options
		want error
	}{
		{"control character in the prefix", etcdfence.Options{Prefix: "a\nb"}, etcdfence.ErrBadName},
		{"only slashes", etcdfence.Options{Prefix: "//"}, etcdfence.ErrBadName},
		{"long prefix", etcdfence.Options{Prefix: strings.Repeat("p", 1025)}, etcdfence.ErrBadName},
		{"bad owner", etcdfence.Options{Owner: "a\nb"}, etcdfence.ErrBadName},
		{"long owner", etcdfence.Options{Owner: strings.Repeat("o", fence.MaxOwner)}, etcdfence.ErrBadName},
		{"negative TTL", etcdfence.Options{TTL: -1}, nil},
		{"TTL beyond etcd's", etcdfence.Options{TTL: math.MaxInt64}, nil},
		{"negative margin", etcdfence.Options{Margin: -1}, nil},
		{"negative epoch", etcdfence.Options{Epoch: -1}, nil},
	} {
		a, err := etcdfence.New(client, &test.opts)
		if err == nil || a != nil || test.want != nil && !isAll(err, test.want) {
			t.Errorf("%s: %v, %v", test.what, a, err)
		}
	}
	for _, fine := range []etcdfence.Options{
		{}, {Prefix: strings.Repeat("p", 1024)}, {Epoch: math.MaxInt64}, {Margin: time.Hour}, {TTL: 1},
	} {
		a, err := etcdfence.New(client, &fine)
		if err != nil {
			t.Errorf("%+v: %v", fine, err)
			continue
		}
		h := lock(t, a, "foo")
		if left := time.Until(h.Deadline()); left <= 0 || left > h.TTL() {
			t.Errorf("%+v: %v left of %v", fine, left, h.TTL())
		}
		release(t, h)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
