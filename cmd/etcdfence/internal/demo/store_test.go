package demo

import (
	"errors"
	"testing"
	"time"

	"github.com/etcdfence/etcdfence/fence"
)

func TestParseStore(t *testing.T) {
	for text, want := range map[string][2]string{
		"sqlite":              {"sqlite", ""},
		"memory":              {"memory", ""},
		"postgres=host=x a=b": {"postgres", "host=x a=b"},
	} {
		kind, dsn, err := parseStore(text)
		if err != nil || kind != want[0] || dsn != want[1] {
			t.Errorf("%s: %q %q %v", text, kind, dsn, err)
		}
		if storeTitle(kind) == "" {
			t.Errorf("%s has no name for people", kind)
		}
	}
	for _, text := range []string{"", "postgres", "postgres=", "sqlite=x", "memory=", "Memory", "mysql=x"} {
		if _, _, err := parseStore(text); err == nil {
			t.Errorf("%q is a store", text)
		}
	}
}

func TestCheck(t *testing.T) {
	for ttl, good := range map[time.Duration]bool{0: false, time.Second - 1: false, time.Second: true, time.Minute: true, time.Hour: false} {
		if err := (Options{Store: "memory", TTL: ttl}).Check(); (err == nil) != good {
			t.Errorf("%v: %v", ttl, err)
		}
	}
}

// What arrives at the other end is the same answer.
func TestAnswer(t *testing.T) {
	for name, reason := range reasons {
		sent := &fence.RefusedError{Lock: lockName, Presented: token(t, lockName, 1).At(2), Mark: token(t, lockName, 3).At(4), Reason: reason}
		var got *fence.RefusedError
		if err := answerOf(sent).err(); !errors.As(err, &got) || *got != *sent {
			t.Errorf("%s: %v has become %v", name, sent, err)
		}
	}
	if answerOf(nil).err() != nil {
		t.Error("acceptance has become an error")
	}
	other := errors.New("the disk is full")
	if a := answerOf(other); a.Reason != "" || a.err().Error() != other.Error() {
		t.Errorf("%v has become %+v", other, a)
	}
}

// A longer lease than was asked for gives the story more time, and a shorter no less.
func TestLimit(t *testing.T) {
	ctx, l := withLimit(t.Context(), 2*time.Second)
	defer l.stop()
	for _, step := range []struct{ ttl, want time.Duration }{
		{time.Second, bound(2 * time.Second)}, {8 * time.Second, bound(8 * time.Second)}, {2 * time.Second, bound(8 * time.Second)},
	} {
		if l.allow(step.ttl); l.until != step.want {
			t.Errorf("after %v: %v, want %v", step.ttl, l.until, step.want)
		}
	}
	if ctx.Err() != nil {
		t.Error(ctx.Err())
	}
	if bound(2*time.Second) > 12*time.Second {
		t.Error("with its cleaning up the demonstration takes longer than 15 s")
	}
}
