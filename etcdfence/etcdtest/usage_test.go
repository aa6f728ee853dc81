package etcdtest_test

import (
	"os"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

func TestOldHolderAfterAPartition(t *testing.T) {
	server := etcdtest.Start(t)
	link := server.Link(t) // the old holder's network
	a, _ := concurrency.NewSession(link.NewClient(t))
	old := concurrency.NewMutex(a, "job")
	if err := old.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}

	link.Cut()                  // A stalls: nothing passes, nothing closes
	server.Expire(t, a.Lease()) // etcd gives up on A
	b, _ := concurrency.NewSession(server.NewClient(t))
	lock := concurrency.NewMutex(b, "job")
	if err := lock.Lock(t.Context()); err != nil { // B holds
		t.Fatal(err)
	}
	link.Heal() // A wakes up and still believes that it holds
	// ... let A write to the resource under test: it must refuse
	a.Orphan() // stop A's renewal, and
	b.Close()  // give B's lease back
}

// The example in the package's documentation is the test above.
func TestDocumentationIsTheUsageTest(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("usage_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var example strings.Builder
	inside := false
	for line := range strings.Lines(string(doc)) {
		line, isDoc := strings.CutPrefix(line, "//")
		inside = isDoc && (inside && strings.TrimSpace(line) == "" || strings.HasPrefix(line, "\t"))
		if inside {
			example.WriteString(strings.TrimPrefix(line, "\t"))
		}
	}
	if text := strings.TrimSpace(example.String()); text == "" || !strings.Contains(string(code), text) {
		t.Errorf("doc.go shows something else than usage_test.go:\n%s", text)
	}
}
