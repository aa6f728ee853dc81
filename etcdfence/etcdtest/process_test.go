package etcdtest_test

import (
	"cmp"
	"os"
	"testing"

	"github.com/etcdfence/etcdfence/etcdfence/etcdtest"
)

// The process is this test binary, or the etcd that ETCDTEST_ETCD names.
func TestProcess(t *testing.T) {
	t.Setenv(asEtcd, "1")
	t.Setenv("ETCD_NAME", "not passed on")
	binary := cmp.Or(os.Getenv("ETCDTEST_ETCD"), os.Args[0])
	p := etcdtest.StartProcess(t, binary, "--log-level", "warn")
	id := leased(t, p.NewClient(t), "k", 60)
	p.WaitKey(t, "k")
	link := p.Link(t)
	get(t, link.NewClient(t), "k")
	p.Revoke(t, id)
	p.WaitGone(t, "k")
	p.NoLeasesLeft(t)
	status, err := p.Client().Status(t.Context(), p.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	t.Log("version", status.Version)
	p.Kill()
	p.Kill()
	if err := tryGet(t, p.Client(), "k"); err == nil {
		t.Error("a killed process answers")
	}
}

func TestProcessThatEndsIsReported(t *testing.T) {
	t.Setenv(asEtcd, "1")
	r := &recorder{TB: t}
	got := r.run(func(tb testing.TB) { etcdtest.StartProcess(tb, os.Args[0], "--no-such-flag") })
	if got == "" {
		t.Error("no report")
	}
	t.Log(got)
}
