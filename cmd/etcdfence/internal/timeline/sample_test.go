package timeline

import (
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

// sample is a story that came out, with tokens from the given revision on.
func sample(t *testing.T, revision int64) Story {
	t.Helper()
	token := func(n int64) fence.Token {
		token, err := fence.NewToken("demo", 0, revision+n, "worker <&> of a test")
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	refused := &fence.RefusedError{Lock: "demo", Presented: token(0).At(1), Mark: token(5).At(1), Reason: fence.ErrStale}
	return Story{
		Etcd: Etcd{Endpoints: []string{"127.0.0.1:2379"}, Embedded: true}, Store: "SQLite", Lock: "demo", TTL: 2 * time.Second,
		Acts: []Act{act(true, token(0), token(5), refused, "v2"), act(false, token(9), token(12), nil, "v1")},
	}
}

// act is one act with one event every 10 ms, except for the pause.
func act(fenced bool, a, b fence.Token, refused error, holds string) Act {
	const ttl = 2 * time.Second
	events := []Event{
		{Who: A, Kind: Asked},
		{Who: Cluster, Kind: Granted, Of: A, Token: a, TTL: ttl},
		{Who: A, Kind: Claimed, Token: a, Check: true},
		{Who: A, Kind: Checked, Token: a},
		{Who: A, Kind: Stopped, Token: a, PID: 4711},
		{Who: B, Kind: Asked},
		{Who: Cluster, Kind: Expired, Of: A, Token: a},
		{Who: Cluster, Kind: Granted, Of: B, Token: b, TTL: ttl},
		{Who: B, Kind: Claimed, Token: b, Check: true},
		{Who: B, Kind: Checked, Token: b},
		{Who: B, Kind: Wrote, Token: b, Value: "v2", Check: fenced},
		{Who: A, Kind: Continued, Token: a, PID: 4711},
		{Who: A, Kind: Wrote, Token: a, Value: "v1", Check: fenced, Err: refused},
	}
	out := Act{Fence: fenced, Holds: holds}
	var at time.Duration
	for _, e := range events {
		if e.Kind == Claimed && !fenced {
			continue
		}
		if e.Kind == Expired {
			at += ttl
		}
		e.At = at
		at += 10 * time.Millisecond
		out.Events = append(out.Events, e)
	}
	return out
}
