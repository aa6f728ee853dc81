package interop_test

import (
	"context"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3election/v3electionpb"
)

// candidate is a process of another kind that stands in the same election, and can look
// on at it.
type candidate interface {
	campaign(ctx context.Context, value string) (revision int64, err error)
	resign(ctx context.Context) error
	leader(ctx context.Context) (value string, revision int64, err error)
}

var candidates = []struct {
	name string
	make func(*testing.T, site) candidate
}{
	{"concurrency.Election", newRawCandidate},
	{"election service", newServiceCandidate},
	{"etcdctl elect", newEtcdctlCandidate},
}

// rawCandidate uses etcd's own elections.
type rawCandidate struct{ e *concurrency.Election }

func newRawCandidate(t *testing.T, at site) candidate {
	return &rawCandidate{concurrency.NewElection(newSession(t, at), rawName)}
}

func (r *rawCandidate) campaign(ctx context.Context, value string) (int64, error) {
	err := r.e.Campaign(ctx, value)
	return r.e.Rev(), err
}

func (r *rawCandidate) resign(ctx context.Context) error { return r.e.Resign(ctx) }

func (r *rawCandidate) leader(ctx context.Context) (string, int64, error) {
	resp, err := r.e.Leader(ctx)
	if err != nil {
		return "", 0, err
	}
	return string(resp.Kvs[0].Value), resp.Kvs[0].CreateRevision, nil
}

// serviceCandidate is a program in any language that uses the server's election service.
type serviceCandidate struct {
	rpc   v3electionpb.ElectionClient
	lease clientv3.LeaseID
	key   *v3electionpb.LeaderKey
}

func newServiceCandidate(t *testing.T, at site) candidate {
	t.Helper()
	s := newSession(t, at)
	return &serviceCandidate{rpc: v3electionpb.NewElectionClient(s.Client().ActiveConnection()), lease: s.Lease()}
}

func (r *serviceCandidate) campaign(ctx context.Context, value string) (int64, error) {
	resp, err := r.rpc.Campaign(ctx, &v3electionpb.CampaignRequest{Name: []byte(rawName), Lease: int64(r.lease), Value: []byte(value)})
	if err != nil {
		return 0, err
	}
	r.key = resp.Leader
	return r.key.Rev, nil
}

func (r *serviceCandidate) resign(ctx context.Context) error {
	_, err := r.rpc.Resign(ctx, &v3electionpb.ResignRequest{Leader: r.key})
	return err
}

func (r *serviceCandidate) leader(ctx context.Context) (string, int64, error) {
	resp, err := r.rpc.Leader(ctx, &v3electionpb.LeaderRequest{Name: []byte(rawName)})
	if err != nil {
		return "", 0, err
	}
	return string(resp.Kv.Value), resp.Kv.CreateRevision, nil
}

// etcdctlCandidate is a script. It looks on with a process of its own.
type etcdctlCandidate struct{ standing, looking *etcdctl }

func newEtcdctlCandidate(t *testing.T, at site) candidate {
	t.Helper()
	return &etcdctlCandidate{etcdctlAt(t, at), etcdctlAt(t, at)}
}

func (r *etcdctlCandidate) campaign(ctx context.Context, value string) (int64, error) {
	kv, err := r.standing.start(ctx, "elect", rawName, value)
	return kv.CreateRevision, err
}

func (r *etcdctlCandidate) resign(ctx context.Context) error { return r.standing.unlock(ctx) }

func (r *etcdctlCandidate) leader(ctx context.Context) (string, int64, error) {
	kv, err := r.looking.start(ctx, "elect", "--listen", rawName)
	if err != nil {
		return "", 0, err
	}
	err = r.looking.running.Process.Kill() // it knows no other end
	_ = r.looking.join()
	return string(kv.Value), kv.CreateRevision, err
}
