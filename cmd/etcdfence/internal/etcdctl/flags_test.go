package etcdctl

import (
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// parse does what a verb does with its command line.
func parse(args ...string) (*clientv3.ConfigSpec, bool, error) {
	f, set := Add("")
	if err := set.Parse(args); err != nil {
		return nil, false, err
	}
	if err := f.FromEnv(); err != nil {
		return nil, false, err
	}
	return f.Spec()
}

func TestFlagsAndEnvironment(t *testing.T) {
	t.Setenv("ETCDCTL_ENDPOINTS", "env-1:2379,env-2:2379")
	t.Setenv("ETCDCTL_CACERT", "ca.pem")
	t.Setenv("ETCDCTL_INSECURE_TRANSPORT", "false")
	t.Setenv("ETCDCTL_USER", "somebody")
	t.Setenv("ETCDCTL_PASSWORD", "a:b")
	t.Setenv("ETCDCTL_DIAL_TIMEOUT", "7s")
	spec, given, err := parse()
	if err != nil || !given {
		t.Fatal(given, err)
	}
	if strings.Join(spec.Endpoints, " ") != "env-1:2379 env-2:2379" || spec.Secure.Cacert != "ca.pem" || spec.Secure.InsecureTransport ||
		spec.Auth.Username != "somebody" || spec.Auth.Password != "a:b" || spec.DialTimeout != 7*time.Second {
		t.Errorf("the environment gave %+v %+v %+v", spec, spec.Secure, spec.Auth)
	}
	spec, _, err = parse("--endpoints=flag:2379", "--dial-timeout=1s", "--insecure-transport", "--password=c")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(spec.Endpoints, " ") != "flag:2379" || spec.DialTimeout != time.Second || !spec.Secure.InsecureTransport || spec.Auth.Password != "c" {
		t.Errorf("the flags gave %+v", spec)
	}
	if _, given, _ = parse("--endpoints="); given {
		t.Error("an empty flag does not win over the environment")
	}
}

func TestCredentials(t *testing.T) {
	for _, c := range []struct{ user, password, wantUser, wantPassword string }{
		{"root:secret", "", "root", "secret"},
		{"root:with:colon", "", "root", "with:colon"},
		{"root", "secret", "root", "secret"},
		{"root:not", "secret", "root:not", "secret"},
		{"root:", "", "root", ""},
	} {
		auth, err := credentials(c.user, c.password)
		if err != nil || auth.Username != c.wantUser || auth.Password != c.wantPassword {
			t.Errorf("%+v: got %+v, %v", c, auth, err)
		}
	}
}

func TestBadFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--user=root", "no password"},
		{"--password=x", "needs --user"},
		{"--dial-timeout=0s", "must be positive"},
		{"--command-timeout=-1s", "must be positive"},
	} {
		if _, _, err := parse(c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.args, err, c.want)
		}
	}
	t.Setenv("ETCDCTL_COMMAND_TIMEOUT", "soon")
	if _, _, err := parse(); err == nil || !strings.Contains(err.Error(), "ETCDCTL_COMMAND_TIMEOUT") {
		t.Errorf("got %v", err)
	}
}
