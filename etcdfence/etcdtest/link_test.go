package etcdtest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// tryGet reads with a short deadline.
func tryGet(t *testing.T, c *clientv3.Client, key string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := c.Get(ctx, key)
	return err
}

func TestCutIsABlackHole(t *testing.T) {
	s := etcdtest.Start(t)
	link := s.Link(t)
	c := link.NewClient(t)
	s.Put(t, "k", "1")
	get(t, c, "k")

	link.Cut()
	if err := tryGet(t, c, "k"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("get through a cut link: %v, want a deadline", err)
	}
	if n := link.Connections(); n != 1 {
		t.Fatalf("%d connections during the cut, want the old one, open", n)
	}
	// A new connection is accepted and gets no answer.
	late := link.NewClient(t)
	if err := tryGet(t, late, "k"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("new client through a cut link: %v, want a deadline", err)
	}
	get(t, s.Client(), "k") // others are not cut off

	link.Heal()
	if v, _ := get(t, c, "k"); v != "1" {
		t.Fatalf("after the heal: %q", v)
	}
	get(t, late, "k")
}

func TestCutRepliesLetsRequestsThrough(t *testing.T) {
	s := etcdtest.Start(t)
	link := s.Link(t)
	c := link.NewClient(t)
	get(t, c, "k")

	link.CutReplies()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Put(ctx, "k", "1")
		done <- err
	}()
	s.WaitKey(t, "k")
	link.WaitHeld(t)
	select {
	case err := <-done:
		t.Fatalf("the reply came through: %v", err)
	default:
	}
	link.Heal()
	if err := <-done; err != nil {
		t.Fatalf("the reply that was held back: %v", err)
	}
	cancel()
}

// The late request of a caller that gave up takes effect after the heal.
func TestHealDeliversWhatWasSentDuringTheCut(t *testing.T) {
	s := etcdtest.Start(t)
	link := s.Link(t)
	c := link.NewClient(t)
	get(t, c, "k")

	// The request leaves the client, and is on its way when the caller gives up.
	link.CutRequests()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Put(ctx, "k", "late")
		done <- err
	}()
	link.WaitHeld(t)
	if _, ok := get(t, s.Client(), "k"); ok {
		t.Fatal("the request passed a cut link")
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("put: %v", err)
	}
	link.Heal()
	get(t, c, "k") // behind it in the same connection

	// clientv3's Watch returns only when the server has confirmed it.
	link.CutReplies()
	created := make(chan clientv3.WatchChan, 1)
	go func() { created <- c.Watch(t.Context(), "k", clientv3.WithCreatedNotify()) }()
	link.WaitHeld(t)
	link.Heal()
	if r := <-<-created; !r.Created {
		t.Fatalf("first response: %+v", r)
	}
}

func TestSeverAndServerDown(t *testing.T) {
	s := etcdtest.Start(t)
	link := s.Link(t)
	c := link.NewClient(t)
	get(t, c, "k")
	link.Sever()
	get(t, c, "k") // connects again
	link.Cut()
	s.Stop()
	if link.Connections() == 0 {
		t.Fatal("the end of the server came through a cut link")
	}
	s.Restart(t)
	link.Heal()
	get(t, c, "k")
}

// Nothing is lost or doubled by cuts in the middle of a stream, also while a
// write is blocked because the other side does not read.
func TestCutMidStream(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	link := etcdtest.NewLink(t, ln.Addr().String())
	near, err := net.Dial("tcp", link.Endpoint()[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()

	want := make([]byte, 8<<20)
	for i := range want {
		want[i] = byte(i >> 8)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := near.Write(want) // fills every buffer while far does not read
		sent <- errors.Join(err, near.(*net.TCPConn).CloseWrite())
	}()
	var got bytes.Buffer
	for got.Len() < len(want)/4 {
		link.Cut()
		link.WaitHeld(t)
		link.Heal()
		if _, err := io.CopyN(&got, far, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.Copy(&got, far); err != nil { // to the end of the stream
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Fatal("the bytes that arrived are not those that were sent")
	}
}
