package main

import (
	"context"

	"github.com/spf13/pflag"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/cli"
	"github.com/etcdfence/etcdfence/cmd/etcdfence/internal/etcdctl"
	"github.com/etcdfence/etcdfence/etcdfence"
)

const etcdFlags = "Flags for etcd, as those of etcdctl, each also as a variable such as ETCDCTL_ENDPOINTS"

// lockFlags are the flags that every program which uses the same locks must agree on.
func lockFlags(set *pflag.FlagSet, o *etcdfence.Options) {
	set.StringVar(&o.Prefix, "prefix", "", "the `prefix` of all keys, as in the library; etcdctl has none")
	set.Int64Var(&o.Epoch, "epoch", 0, "the epoch of the tokens: raise it after a restore of etcd")
}

// connect reaches the etcd that the flags name, or the one that etcdctl would take, and
// sees that it may read the keys with the prefix.
func connect(ctx context.Context, etcd *etcdctl.Flags, prefix string) (*clientv3.Client, error) {
	if err := etcd.FromEnv(); err != nil {
		return nil, cli.AsUnusable(err)
	}
	spec, given, err := etcd.Spec()
	if err != nil {
		return nil, cli.AsUnusable(err)
	}
	if !given {
		spec.Endpoints = []string{"127.0.0.1:2379"}
	}
	etcdctl.Quiet()
	client, err := etcdctl.Connect(ctx, spec, prefix)
	return client, cli.AsUnusable(err)
}
