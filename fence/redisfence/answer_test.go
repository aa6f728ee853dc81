package redisfence

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/etcdfence/etcdfence/fence"
)

const mark = "etcdfence 1\n0 53 7\n694d81/web-7:4711\norders/42\n2\nCALL\n"

func stamp(t testing.TB) fence.Stamp {
	t.Helper()
	tok, err := fence.NewToken("orders/42", 0, 53, "694d81/web-7:4711")
	if err != nil {
		t.Fatal(err)
	}
	return tok.At(7)
}

func TestParse(t *testing.T) {
	for reply, want := range map[string]answer{
		"ok\n":                         {word: "ok"},
		"unfit\n\nbecause\n of it":     {word: "unfit", more: "because\n of it"},
		"ok\n" + mark:                  {word: "ok", state: state{2, stamp(t)}},
		"duplicate\n" + mark + "\na\n": {word: "duplicate", state: state{2, stamp(t)}, more: "a\n"},
	} {
		if got, err := parse(reply); err != nil || got != want {
			t.Errorf("%q: got %+v and %v, want %+v", reply, got, err, want)
		}
	}
	for _, reply := range []string{"foreign", "ok\nx", "ok\n" + mark[:20], "ok\n" + strings.Replace(mark, "53", "0", 1),
		"ok\n" + strings.Replace(mark, "53", "99999999999999999999", 1), "ok\n" + strings.Replace(mark, "53 7", "53 7 7 7", 1)} {
		if got, err := parse(reply); !errors.Is(err, ErrForeign) && !errors.Is(err, errAnswer) {
			t.Errorf("%q: got %+v and %v", reply, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("ok\n" + mark + "\nmore")
	f.Add("ok\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, reply string) {
		switch a, err := parse(reply); {
		case err != nil && !errors.Is(err, ErrForeign) && !errors.Is(err, errAnswer):
			t.Errorf("%q: %v", reply, err)
		case err == nil && a.mark.IsZero() && strings.HasPrefix(reply, a.word+"\netcdfence"):
			t.Errorf("the mark in %q was taken for none", reply)
		}
	})
}

// Whatever a result is made of, a repeat gets it back, and none stays none.
func TestOperationText(t *testing.T) {
	ours, theirs := &call{word: "A"}, &call{word: "B"}
	for _, result := range [][]byte{nil, {}, []byte("ok"), []byte("\n\n-=\x00\xff\n")} {
		text, err := encodeOperation(ours, stamp(t), result)
		if err != nil {
			t.Fatal(err)
		}
		if err := duplicate(ours, "pay", text); err != nil {
			t.Errorf("the call that did it: %v", err)
		}
		var d *fence.DuplicateError
		if err := duplicate(theirs, "pay", text); !errors.As(err, &d) || d.Stamp != stamp(t) || d.Operation != "pay" ||
			!bytes.Equal(d.Result, result) || (d.Result == nil) != (result == nil) {
			t.Errorf("%q: got %+v, %v", result, d, err)
		}
	}
	for _, text := range []string{"", "A", "A\n", "C\nv1;e=0\n=", "C\n\n", "C\n\n="} {
		if err := duplicate(theirs, "pay", text); !errors.Is(err, ErrForeign) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The answers that need a Redis in a state that tests do not bring about.
func TestKinds(t *testing.T) {
	ctx := context.Background()
	for text, want := range map[string]error{
		"LOADING Redis is loading the dataset in memory":                                   fence.ErrContended,
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.": fence.ErrContended,
		"ERR max number of clients reached":                                                fence.ErrContended,
		"MOVED 1 127.0.0.1:1":                                                              fence.ErrContended,
		"NOAUTH Authentication required.":                                                  ErrDenied,
		"ERR ACL failure in script: x":                                                     ErrDenied,
		"NOPERM x":                                                                         ErrDenied,
		"OOM x":                                                                            ErrFull,
		"ERR x":                                                                            nil,
		"":                                                                                 nil,
	} {
		err := failure(ctx, "write", false, answerError(text))
		var own redis.Error
		if !errors.As(err, &own) || errors.Is(err, fence.ErrUnknownOutcome) || fence.SafeToRetry(err) != errors.Is(want, fence.ErrContended) {
			t.Errorf("%s: %v", text, err)
		}
		if want != nil && !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		if !errors.Is(failure(ctx, "write", true, answerError(text)), fence.ErrUnknownOutcome) {
			t.Errorf("%s: an answer was lost before", text)
		}
	}
	if err := failure(ctx, "write", false, io.EOF); fence.SafeToRetry(err) || !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// answerError is an answer of Redis, as the client gives it.
type answerError string

func (a answerError) Error() string { return string(a) }
func (answerError) RedisError()     {}

var _ redis.Error = answerError("")
