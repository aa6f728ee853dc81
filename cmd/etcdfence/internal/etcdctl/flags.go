// Package etcdctl reaches an etcd the way its own command line client does: with the
// flags and the environment variables of the same names.
package etcdctl

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Flags are the values of the flags. Make them with [Add].
type Flags struct {
	set *pflag.FlagSet

	endpoints      []string
	dialTimeout    time.Duration
	commandTimeout time.Duration
	secure         clientv3.SecureConfig
	user, password string
}

// The connection is tested as etcdctl does it; the numbers are its own.
const (
	keepAliveTime    = 2 * time.Second
	keepAliveTimeout = 6 * time.Second
)

// Add defines the flags in a set of their own, for a command to take over. endpoints
// is what the help says about the flag of that name, which has no default here.
func Add(endpoints string) (*Flags, *pflag.FlagSet) {
	set := pflag.NewFlagSet("etcd", pflag.ContinueOnError)
	set.SortFlags = false
	f := &Flags{set: set}
	set.StringSliceVar(&f.endpoints, "endpoints", nil, endpoints)
	set.StringVar(&f.secure.Cacert, "cacert", "", "the `file` with the CA bundle that the server's certificate is checked with")
	set.StringVar(&f.secure.Cert, "cert", "", "the `file` with the certificate to show to the server")
	set.StringVar(&f.secure.Key, "key", "", "the `file` with the key of that certificate")
	set.StringVar(&f.user, "user", "", "who to authenticate as: `name[:password]`")
	set.StringVar(&f.password, "password", "", "the `password`, if --user has none")
	set.BoolVar(&f.secure.InsecureTransport, "insecure-transport", true, "no TLS, unless a file above or an https endpoint asks for it")
	set.BoolVar(&f.secure.InsecureSkipVerify, "insecure-skip-tls-verify", false, "accept any certificate; only for tests")
	set.DurationVar(&f.dialTimeout, "dial-timeout", 2*time.Second, "how long to wait for a connection")
	set.DurationVar(&f.commandTimeout, "command-timeout", 5*time.Second, "how long to wait for an answer")
	return f, set
}

// Env is the environment variable that stands for a flag: ETCDCTL_DIAL_TIMEOUT for
// dial-timeout.
func Env(flag string) string {
	return "ETCDCTL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// FromEnv takes what the command line has left open from the environment. A flag wins
// over its variable, also an empty one; etcdctl gives up if both are set.
func (f *Flags) FromEnv() error {
	var errs []error
	f.set.VisitAll(func(flag *pflag.Flag) {
		value := os.Getenv(Env(flag.Name))
		if flag.Changed || value == "" {
			return
		}
		if err := f.set.Set(flag.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", Env(flag.Name), err))
		}
	})
	return errors.Join(errs...)
}

// Spec returns what was asked for, and false if no endpoint was given.
func (f *Flags) Spec() (*clientv3.ConfigSpec, bool, error) {
	spec := &clientv3.ConfigSpec{Endpoints: f.endpoints, DialTimeout: f.dialTimeout, RequestTimeout: f.commandTimeout,
		KeepAliveTime: keepAliveTime, KeepAliveTimeout: keepAliveTimeout, Secure: &f.secure}
	if f.dialTimeout <= 0 || f.commandTimeout <= 0 {
		return nil, false, errors.New("--dial-timeout and --command-timeout must be positive")
	}
	if f.password != "" && f.user == "" {
		return nil, false, errors.New("--password needs --user")
	}
	if f.user != "" {
		auth, err := credentials(f.user, f.password)
		if err != nil {
			return nil, false, err
		}
		spec.Auth = auth
	}
	return spec, len(f.endpoints) > 0, nil
}

// CommandTimeout is how long to wait for an answer.
func (f *Flags) CommandTimeout() time.Duration { return f.commandTimeout }

// credentials splits name:password only if there is no password apart, as etcdctl
// does. It never asks on the terminal.
func credentials(user, password string) (*clientv3.AuthConfig, error) {
	if password != "" {
		return &clientv3.AuthConfig{Username: user, Password: password}, nil
	}
	name, password, ok := strings.Cut(user, ":")
	if !ok {
		return nil, fmt.Errorf("--user %s has no password: use --user %[1]s:PASSWORD, or --password, or ETCDCTL_PASSWORD", user)
	}
	return &clientv3.AuthConfig{Username: name, Password: password}, nil
}
