// Command whykey takes etcd's own mutex several times and prints, side by side, the
// numbers that people take for a fence token: the key, the lease id, the revision in the
// response header, and the create revision of the key.
//
//	go run ./examples/whykey
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"text/tabwriter"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/etcdfence/etcdfence/etcdfence"
	"github.com/etcdfence/etcdfence/examples/internal/localetcd"
	"github.com/etcdfence/etcdfence/fence"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	holds, err := observe(ctx)
	if err != nil {
		return err
	}
	if err := table(out, holds); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, f := range judge(holds) {
		fmt.Fprintf(out, "%-48s %s\n", f.what, f.result)
	}
	return mixed(ctx, out, holds)
}

// hold is what one acquisition showed.
type hold struct {
	session string
	key     string
	lease   clientv3.LeaseID
	header  int64 // Mutex.Header().Revision
	create  int64 // of the key, as TokenOf takes it from the mutex
}

// observe takes the lock "report" six times in turn on a cluster of three members.
func observe(ctx context.Context) ([]hold, error) {
	cluster, err := localetcd.Start(ctx, 3)
	if err != nil {
		return nil, err
	}
	defer cluster.Close()
	var sessions []*session
	for i, name := range []string{"a", "b", "c", "d"} { // b, c and d have leases of other members
		client, err := cluster.Client(i % 3)
		if err != nil {
			return nil, err
		}
		s, err := newSession(name, client)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		sessions = append(sessions, s)
	}
	a, b, c, d := sessions[0], sessions[1], sessions[2], sessions[3]

	var holds []hold
	note := func(s *session, err error) error {
		if err != nil {
			return err
		}
		h, err := s.look()
		holds = append(holds, h)
		return err
	}
	// Twice by one session, with nobody in the way.
	if err := note(a, a.mutex.Lock(ctx)); err != nil {
		return nil, err
	}
	if err := a.mutex.Unlock(ctx); err != nil {
		return nil, err
	}
	if err := note(a, a.mutex.Lock(ctx)); err != nil {
		return nil, err
	}
	// The others queue one behind the other, and meanwhile the store is used.
	waiting := make([]chan error, 3)
	for i, s := range []*session{b, c, d} {
		waiting[i] = make(chan error, 1)
		go func() { waiting[i] <- s.mutex.Lock(ctx) }()
		if err := queued(ctx, a.client, i+2); err != nil {
			return nil, err
		}
	}
	for i, s := range []*session{a, b, c} {
		for range 20 {
			if _, err := a.client.Put(ctx, "unrelated", ""); err != nil {
				return nil, err
			}
		}
		if err := s.mutex.Unlock(ctx); err != nil {
			return nil, err
		}
		if err := note([]*session{b, c, d}[i], <-waiting[i]); err != nil {
			return nil, err
		}
	}
	if err := d.mutex.Unlock(ctx); err != nil {
		return nil, err
	}
	return holds, note(a, a.mutex.Lock(ctx))
}

type session struct {
	*concurrency.Session
	name   string
	client *clientv3.Client
	mutex  *concurrency.Mutex
}

func newSession(name string, client *clientv3.Client) (*session, error) {
	s, err := concurrency.NewSession(client)
	if err != nil {
		return nil, err
	}
	return &session{Session: s, name: name, client: client, mutex: concurrency.NewMutex(s, "report")}, nil
}

func (s *session) look() (hold, error) {
	token, err := etcdfence.TokenOf(s.mutex, "report")
	return hold{session: s.name, key: s.mutex.Key(), lease: s.Lease(),
		header: s.mutex.Header().Revision, create: token.Revision()}, err
}

// queued waits until n keys are in the queue.
func queued(ctx context.Context, client *clientv3.Client, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := client.Watch(ctx, "report/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	for range events {
		resp, err := client.Get(ctx, "report/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil || resp.Count >= int64(n) {
			return err
		}
	}
	return ctx.Err()
}

func table(out io.Writer, holds []hold) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "hold\tsession\tkey\tlease id\theader revision\tcreate revision")
	for i, h := range holds {
		fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%d\t%d\n", i+1, h.session, h.key, h.lease, h.header, h.create)
	}
	return w.Flush()
}

type finding struct{ what, result string }

// judge asks of each number what a token needs: to be larger with every hold.
func judge(holds []hold) []finding {
	rises := func(less func(a, b hold) bool) string {
		for i := 1; i < len(holds); i++ {
			if !less(holds[i-1], holds[i]) {
				return fmt.Sprintf("no: hold %d after hold %d", i+1, i)
			}
		}
		return "yes"
	}
	crossed := "no"
	for i := 1; i < len(holds); i++ {
		if older, newer := holds[i-1], holds[i]; older.header > newer.create {
			crossed = fmt.Sprintf("yes: %d of hold %d, %d of hold %d", older.header, i, newer.create, i+1)
			break
		}
	}
	return []finding{
		{"does the key tell hold 1 from hold 2?", map[bool]string{true: "yes", false: "no: same key"}[holds[0].key != holds[1].key]},
		{"does the key rise with every hold?", rises(func(a, b hold) bool { return a.key < b.key })},
		{"does the lease id at least never fall?", rises(func(a, b hold) bool { return a.lease <= b.lease })},
		{"does the header revision rise?", rises(func(a, b hold) bool { return a.header < b.header })},
		{"does the create revision rise?", rises(func(a, b hold) bool { return a.create < b.create })},
		{"can a header exceed the next create revision?", crossed},
	}
}

// mixed has a resource accept the header revision of one holder and then the create
// revision of the next: a fleet in which one service takes the one and another service
// the other.
func mixed(ctx context.Context, out io.Writer, holds []hold) error {
	report, err := fence.NewMemory("report")
	if err != nil {
		return err
	}
	older, newer := holds[2], holds[3]
	wrong, err := fence.NewToken("report", 0, older.header, older.session)
	if err != nil {
		return err
	}
	right, err := fence.NewToken("report", 0, newer.create, newer.session)
	if err != nil {
		return err
	}
	if err := report.Claim(ctx, wrong); err != nil {
		return err
	}
	fmt.Fprintln(out)
	fmt.Fprintf(out, "hold 3 claims with its header revision:         %v\n", wrong)
	fmt.Fprintf(out, "hold 4, the true holder, with its create rev.:  %v\n", report.Claim(ctx, right))
	return nil
}
