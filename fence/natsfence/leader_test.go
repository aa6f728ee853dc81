package natsfence

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func TestAPIPrefix(t *testing.T) {
	for _, c := range []struct {
		opts jetstream.JetStreamOptions
		want string
	}{
		{jetstream.JetStreamOptions{}, "$JS.API."},
		{jetstream.JetStreamOptions{Domain: "hub"}, "$JS.hub.API."},
		{jetstream.JetStreamOptions{APIPrefix: "from.acme"}, "from.acme."},
		{jetstream.JetStreamOptions{APIPrefix: "from.acme."}, "from.acme."},
	} {
		if got := apiPrefix(c.opts); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.opts, got, c.want)
		}
	}
}
