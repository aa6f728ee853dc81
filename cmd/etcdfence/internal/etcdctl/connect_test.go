package etcdctl

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

func spec(endpoint string) *clientv3.ConfigSpec {
	return &clientv3.ConfigSpec{Endpoints: []string{endpoint}, DialTimeout: 400 * time.Millisecond, RequestTimeout: 5 * time.Second,
		Secure: &clientv3.SecureConfig{InsecureTransport: true}}
}

// fails connects in vain and checks why and how fast.
func fails(t *testing.T, s *clientv3.ConfigSpec, want string) {
	t.Helper()
	begin := time.Now()
	client, err := Connect(t.Context(), s, "/x/")
	if err == nil {
		client.Close()
		t.Fatal("it is connected")
	}
	if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), s.Endpoints[0]) {
		t.Errorf("got %v, want %q and the endpoint in it", err, want)
	}
	if took := time.Since(begin); took > s.DialTimeout+20*time.Second { // no hang; the machine may be busy
		t.Errorf("it took %v", took)
	}
}

func TestUnreachable(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	fails(t, spec(closed.Addr().String()), "connection refused")
	fails(t, spec("no-such-host.invalid:2379"), "no-such-host.invalid")

	mute, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	fails(t, spec(mute.Addr().String()), "does not answer as an etcd")
}

func TestInterruptedWhileConnecting(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	if _, err := Connect(ctx, spec("127.0.0.1:1"), "/x/"); !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
}

func TestMissingFiles(t *testing.T) {
	s := spec("127.0.0.1:1")
	s.Secure.Cacert = "nowhere.pem"
	fails(t, s, "nowhere.pem")
}

// With authentication on, only who may read the prefix gets in.
func TestAuthentication(t *testing.T) {
	server := etcdtest.Start(t)
	admin := server.NewClient(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"root", "guest"} {
		_, err := admin.RoleAdd(ctx, name)
		must(err)
		_, err = admin.UserAdd(ctx, name, "secret")
		must(err)
		_, err = admin.UserGrantRole(ctx, name, name)
		must(err)
	}
	_, err := admin.AuthEnable(ctx)
	must(err)

	as := func(user, password string) *clientv3.ConfigSpec {
		s := spec(server.Address())
		s.DialTimeout = 20 * time.Second // the server hashes passwords, slowly on purpose
		if user != "" {
			s.Auth = &clientv3.AuthConfig{Username: user, Password: password}
		}
		return s
	}
	fails(t, as("", ""), "user name is empty")
	fails(t, as("root", "wrong"), "invalid user ID or password")
	fails(t, as("guest", "secret"), "permission denied")
	client, err := Connect(ctx, as("root", "secret"), "/x/")
	must(err)
	defer client.Close()
	_, err = client.AuthDisable(ctx)
	must(err)
}
