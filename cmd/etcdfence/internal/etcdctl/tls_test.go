package etcdctl

import (
	"net/url"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// secure starts an etcd that speaks TLS only, and returns its endpoint and the file with
// its certificate.
func secure(t *testing.T) (endpoint, cacert string) {
	t.Helper()
	info, err := transport.SelfCert(zap.NewNop(), t.TempDir(), []string{"127.0.0.1:0"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	cfg := embed.NewConfig()
	cfg.Dir = t.TempDir()
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	peer, client := url.URL{Scheme: "http", Host: "127.0.0.1:0"}, url.URL{Scheme: "https", Host: "127.0.0.1:0"}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.InitialCluster = cfg.Name + "=" + peer.String()
	cfg.EnableGRPCGateway, cfg.UnsafeNoFsync, cfg.TickMs, cfg.ElectionMs = false, true, 20, 200
	cfg.ClientTLSInfo = info
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		etcd.Server.HardStop()
		etcd.Close()
	})
	<-etcd.Server.ReadyNotify()
	return etcd.Clients[0].Addr().String(), info.CertFile
}

func TestTLS(t *testing.T) {
	address, cacert := secure(t)
	fails(t, spec(address), "does it want TLS")
	fails(t, spec("https://"+address), "unknown authority")

	for name, secure := range map[string]clientv3.SecureConfig{
		"cacert":                   {Cacert: cacert},
		"insecure-skip-tls-verify": {InsecureSkipVerify: true},
	} {
		s := spec("https://" + address)
		s.DialTimeout, s.Secure = 5*time.Second, &secure
		client, err := Connect(t.Context(), s, "/x/")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		client.Close()
	}
}
