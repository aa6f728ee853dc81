package etcdkv_test

import (
	"testing"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/etcdfence/etcdkv"
	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
	"github.com/etcdfence/etcdfence/fence"
)

// adapters and raw mutexes put their keys at the same place.
func TestLockKeyIsTheHoldsKey(t *testing.T) {
	server := etcdtest.Start(t)
	for _, prefix := range []string{"", "/", "/locks", "locks/deep/"} {
		a := adapter(t, server, prefix)
		for _, name := range []string{"plain", "orders/42", "100%", "a%2Fb", "é ~"} {
			h, err := a.Lock(t.Context(), name)
			must(t, err)
			if got := etcdkv.LockKey(prefix)(h.Token()); got != h.Key() {
				t.Errorf("prefix %q, lock %q: got %q, the hold's key is %q", prefix, name, got, h.Key())
			}
			must(t, h.Release(t.Context()))
		}
	}
	if key := etcdkv.LockKey("/locks")(at(t, 5, 1).Token()); key != "" {
		t.Errorf("an owner without a lease has the key %q", key)
	}
}

// Its key was deleted and nobody newer came: the mark alone would let it pass.
func TestHoldThatIsOverIsRefusedAtOnce(t *testing.T) {
	server := etcdtest.Start(t)
	for name, end := range map[string]func(*etcdfence.Hold){
		"key deleted":   func(h *etcdfence.Hold) { server.DeleteKey(t, h.Key()) },
		"lease expired": func(h *etcdfence.Hold) { server.Expire(t, h.Lease()) },
		"released":      func(h *etcdfence.Hold) { must(t, h.Release(t.Context())) },
		"another incarnation of the key": func(h *etcdfence.Hold) {
			server.DeleteKey(t, h.Key())
			server.Put(t, h.Key(), "somebody")
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := server.NewClient(t)
			r, err := etcdkv.New(client, "data/"+name, lock, &etcdkv.Options{LockKey: etcdkv.LockKey("/locks")})
			must(t, err)
			marksOnly, err := etcdkv.New(client, "data/"+name, lock, nil)
			must(t, err)
			h, err := adapter(t, server, "/locks").Lock(t.Context(), lock)
			must(t, err)
			s := h.Stamp()
			must(t, r.Claim(t.Context(), s.Token()))
			must(t, r.Apply(t.Context(), s, put("balance", "1")))
			end(h)

			next := s.Token().At(2)
			err = r.Apply(t.Context(), next, put("balance", "2"))
			mustBe(t, err, etcdkv.ErrOver, fence.ErrStale)
			over := as[*etcdkv.OverError](t, err)
			if over.Refused.Presented != next || over.Refused.Mark != s || over.Key == "" || fence.SafeToRetry(err) {
				t.Fatalf("the refusal is %+v", over)
			}
			mustBe(t, r.Claim(t.Context(), s.Token()), etcdkv.ErrOver, fence.ErrStale)
			if got := value(t, r, "balance"); got != "1" {
				t.Fatalf("the balance is %q", got)
			}
			// A replay is told to be one: it was accepted while the hold lasted.
			mustBe(t, r.Apply(t.Context(), s, put("balance", "2")), fence.ErrReplayed)
			// Without the option only the mark decides.
			must(t, marksOnly.Apply(t.Context(), next, put("balance", "3")))
			server.DeleteKey(t, h.Key())
			_ = h.Release(t.Context()) // lost, or released before
		})
	}
}

func TestFirstClaimOfAHoldThatIsOver(t *testing.T) {
	server := etcdtest.Start(t)
	r := open(t, server.NewClient(t), &etcdkv.Options{LockKey: etcdkv.LockKey("/locks")})
	h, err := adapter(t, server, "/locks").Lock(t.Context(), lock)
	must(t, err)
	token := h.Token()
	must(t, h.Release(t.Context()))
	mustBe(t, r.Claim(t.Context(), token), etcdkv.ErrOver)
	mustBe(t, r.Apply(t.Context(), token.At(1), put("balance", "1")), etcdkv.ErrOver)
	marked(t, r, fence.Stamp{})
	// A made-up owner has no key: that is a wiring mistake, and no reason to let it pass.
	mustBe(t, r.Claim(t.Context(), at(t, 5, 0).Token()), fence.ErrBadToken)
	mustBe(t, r.Apply(t.Context(), at(t, 5, 1), put("balance", "1")), fence.ErrBadToken)
}

// Whoever is refused that way learns through Bind that the hold is lost.
func TestBoundHoldIsLostWhenItIsOver(t *testing.T) {
	server := etcdtest.Start(t)
	r := open(t, server.NewClient(t), &etcdkv.Options{LockKey: etcdkv.LockKey("/locks")})
	h, err := adapter(t, server, "/locks").Lock(t.Context(), lock)
	must(t, err)
	w, err := etcdfence.Bind(t.Context(), h, r)
	must(t, err)
	must(t, w.Apply(t.Context(), put("balance", "1")))
	server.DeleteKey(t, h.Key())
	mustBe(t, w.Apply(t.Context(), put("balance", "2")), etcdkv.ErrOver, fence.ErrStale)
	mustBe(t, h.Err(), etcdfence.ErrLost)
	_ = h.Release(t.Context())
}

func adapter(t *testing.T, server *etcdtest.Server, prefix string) *etcdfence.Adapter {
	t.Helper()
	a, err := etcdfence.New(server.NewClient(t), &etcdfence.Options{Prefix: prefix})
	must(t, err)
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}
