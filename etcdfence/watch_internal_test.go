package etcdfence

import (
	"context"
	"testing"
)

// A member of the cluster that lags, or a watch that several holds share, may report
// the deletion of an earlier incarnation of a key. It says nothing about this one.
func TestOldDeletionEvent(t *testing.T) {
	h := &Hold{key: "foo/1a"}
	h.base, h.end = context.WithCancelCause(context.Background())
	defer h.end(nil)
	h.revision.Store(10)
	g := &keyGroup{w: &keyWatch{}, members: map[string]*Hold{h.key: h}}
	g.deleted(h.key, 9)
	g.deleted("foo/1b", 11)
	if h.base.Err() != nil {
		t.Fatal("ended by another deletion")
	}
}
