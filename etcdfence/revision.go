package etcdfence

// A token is BORN here: from the create revision of the lock's key. From here it
// travels in the forms of fence/wire.go and is enforced by what
// fence/resource.go describes.

import (
	"errors"
	"fmt"
	"path"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/fence"
)

// TokenOf returns the token of a lock that the caller holds with etcd's own
// mutex, in epoch 0: step one of a migration, for code that is not ready to give
// its mutex away. name is what the token calls the lock, and what the resource
// is guarded by; use the name that the [Adapter] will use later.
//
// Call it after Lock or TryLock returned nil and before Unlock. It costs no
// request: the mutex has recorded the create revision of its key. It returns
// [ErrNotHeld] if the mutex was never locked or has been unlocked, and
// [fence.ErrBadToken] for a malformed name.
//
// It cannot repair the mutex: two mutexes of one session share one key and so one
// token, and a mutex whose Lock failed may still look locked (etcd issue 22082).
// The other numbers at hand are no tokens: the key is the same for every hold of
// a session, the lease id has no order across members, and Header().Revision is
// the revision of whatever request came last.
func TokenOf(m *concurrency.Mutex, name string) (fence.Token, error) {
	if m == nil || m.Header() == nil {
		return fence.Token{}, fmt.Errorf("%w: the mutex was not locked", ErrNotHeld)
	}
	revision := createRevision(m)
	if revision <= 0 {
		return fence.Token{}, fmt.Errorf("%w: the mutex is unlocked", ErrNotHeld)
	}
	return fence.NewToken(name, 0, revision, path.Base(m.Key()))
}

// createRevision is the create revision that the mutex recorded when its key was
// made, -1 if it has none. It travels in the comparison that IsOwner returns, so
// nothing is read back: a Get of the key could see a later incarnation of it and
// yield a number above the true holder's.
func createRevision(m *concurrency.Mutex) int64 {
	cmp := m.IsOwner()
	return cmp.GetCompare().GetCreateRevision()
}

var errNoRevision = errors.New("etcdfence: the recipe reported a lock without a create revision")
