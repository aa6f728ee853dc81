package httpfence

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

func at(t testing.TB, revision, sequence int64) fence.Stamp {
	t.Helper()
	token, err := fence.NewToken("orders/é", 1<<62, revision, `holder "1"`)
	if err != nil {
		t.Fatal(err)
	}
	return token.At(sequence)
}

func TestField(t *testing.T) {
	s := at(t, 1<<62+1, 1<<53+1)
	value, err := Value(s)
	const want = `"v1;e=4611686018427387904;r=4611686018427387905;s=9007199254740993;o=holder%20%221%22;l=orders%2F%C3%A9"`
	if err != nil || value != want {
		t.Errorf("%s, %v", value, err)
	}
	for _, v := range []string{value, " " + value + " "} {
		if got, err := Parse(v); err != nil || got != s {
			t.Errorf("%q: %v, %v", v, got, err)
		}
	}
	if _, err := Value(fence.Stamp{}); !errors.Is(err, fence.ErrNoToken) {
		t.Error(err)
	}
	inner := strings.Trim(value, `"`)
	for _, bad := range []string{"", `"`, `""`, inner, `"` + inner, inner + `"`, value + ";a=1", value + "," + value, `"` + inner + "\x00\"",
		`%` + value + " x", `"\v1"`, `"v1\"`, "5", "?1", ":YQ==:", `"` + inner + `é"`, strings.Repeat("x", 1<<20)} {
		if _, err := Parse(bad); !errors.Is(err, fence.ErrBadToken) && !errors.Is(err, fence.ErrNoToken) || len(err.Error()) > 1000 {
			t.Errorf("%.50q: %v", bad, err)
		}
	}
}

func TestOperationIDs(t *testing.T) {
	for id, want := range map[string]string{
		"pay-17":   `"pay-17"`,
		`a"b\c d`:  `"a\"b\\c d"`,
		"größe":    `%"gr%c3%b6%c3%9fe"`,
		`é"%`:      `%"%c3%a9%22%25"`,
		"日本 17 % ": `%"%e6%97%a5%e6%9c%ac 17 %25 "`,
	} {
		if got := encode(id); got != want {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
		if got, ok := decode(want); !ok || got != id {
			t.Errorf("%s: %q, %v", want, got, ok)
		}
	}
	for _, bad := range []string{"pay-17", `%"%C3%A9"`, `%"%c3"`, `%"%c"`, `%"%"`, `%"%zz"`, `"a"b"`, `%`, `%"`} {
		if got, ok := decode(bad); ok {
			t.Errorf("%s is %q", bad, got)
		}
	}
}

// What is decoded is what was encoded, and nothing makes a value that is not one.
func FuzzField(f *testing.F) {
	for _, seed := range []string{"", "a", `"`, `\`, "é", "%", "\x00", "v1;e=0", `"a"`, `%"%c3%a9"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value := encode(text)
		for i := range len(value) {
			if value[i] < ' ' || value[i] > '~' {
				t.Fatalf("%q has %q", value, value[i])
			}
		}
		got, ok := decode(value)
		if valid := strings.ToValidUTF8(text, "") == text; valid && (!ok || got != text) || ok && got != text {
			t.Fatalf("%q became %s became %q, %v", text, value, got, ok)
		}
		if again, ok := decode(text); ok && encode(again) != strings.Trim(text, " ") {
			// Only a Display String of plain ASCII has two spellings.
			if !strings.HasPrefix(strings.Trim(text, " "), "%") {
				t.Fatalf("%q is read as %q, which is written %s", text, again, encode(again))
			}
		}
	})
}

// Every answer of the fence arrives as what it was, with its stamps, and with a status for
// those who know nothing of fences.
func TestErrorsSurviveTheWire(t *testing.T) {
	refused := func(reason error, mark fence.Stamp) error {
		return &fence.RefusedError{Lock: "orders/é", Presented: at(t, 1<<53+1, 7), Mark: mark, Reason: reason}
	}
	for _, c := range []struct {
		err    error
		is     error
		status int
	}{
		{refused(fence.ErrStale, at(t, 1<<62, 1)), fence.ErrStale, 412},
		{fmt.Errorf("wrapped: %w", refused(fence.ErrStale, at(t, 9, 1))), fence.ErrStale, 412},
		{refused(fence.ErrReplayed, at(t, 9, 1)), fence.ErrReplayed, 412},
		{refused(fence.ErrMoved, fence.Stamp{}), fence.ErrMoved, 412},
		{refused(fence.ErrConflict, at(t, 9, 1)), fence.ErrConflict, 409},
		{refused(fence.ErrWrongLock, fence.Stamp{}), fence.ErrWrongLock, 409},
		{fence.ErrNoToken, fence.ErrNoToken, 428},
		{fmt.Errorf("%w: two", fence.ErrBadToken), fence.ErrBadToken, 400},
		{fence.ErrBadOperation, fence.ErrBadOperation, 400},
		{&fence.DuplicateError{Operation: "pay \n é", Stamp: at(t, 9, 1), Result: []byte{0, 0xff}}, fence.ErrDuplicate, 409},
		{&fence.DuplicateError{Operation: "pay", Stamp: at(t, 9, 1), Result: []byte{}}, fence.ErrDuplicate, 409},
		{&fence.DuplicateError{Operation: "pay", Stamp: at(t, 9, 1)}, fence.ErrDuplicate, 409},
		{fmt.Errorf("%w: 40001", fence.ErrContended), fence.ErrContended, 503},
		{fmt.Errorf("%w: the password is x", fence.ErrUnknownOutcome), fence.ErrUnknownOutcome, 504},
	} {
		w := httptest.NewRecorder()
		if !Answer(w, c.err) {
			t.Errorf("%v is not answered", c.err)
			continue
		}
		resp := w.Result()
		got := Error(resp)
		if !errors.Is(got, c.is) || resp.StatusCode != c.status || fence.SafeToRetry(got) != fence.SafeToRetry(c.err) {
			t.Errorf("%v arrives as %v (%d)", c.err, got, resp.StatusCode)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || !strings.Contains(string(body), c.is.Error()) || strings.Contains(string(body), "password") {
			t.Errorf("the body is %s, %v", body, err)
		}
		want, had := (*fence.RefusedError)(nil), (*fence.RefusedError)(nil)
		if errors.As(c.err, &want) && (!errors.As(got, &had) || *had != *want) {
			t.Errorf("%v arrives as %+v", c.err, had)
		}
		done, was := (*fence.DuplicateError)(nil), (*fence.DuplicateError)(nil)
		if errors.As(c.err, &done) && (!errors.As(got, &was) || was.Operation != done.Operation || was.Stamp != done.Stamp ||
			string(was.Result) != string(done.Result) || (was.Result == nil) != (done.Result == nil)) {
			t.Errorf("%v arrives as %+v", c.err, was)
		}
	}
	w := httptest.NewRecorder()
	if Answer(w, io.ErrUnexpectedEOF) || w.Body.Len() > 0 {
		t.Error("an error that is not the fence's is answered")
	}
}

// Problems that somebody else has made, or broken, are never taken for an answer of ours.
func TestForeignProblems(t *testing.T) {
	for _, c := range []struct {
		media, body string
		want        error
	}{
		{contentType, `{"type":"about:blank","status":412}`, nil},
		{contentType, `{"type":"https://example.com/#stale"}`, nil},
		{contentType, `{"type":"` + ProblemType + `fresh"}`, nil},
		{contentType + "; charset=utf-8", `{"type":"` + ProblemType + `stale"}`, fence.ErrStale},
		{contentType, `{"type":"` + ProblemType + `stale","lock":"a","mark":"x"}`, fence.ErrStale},
		{contentType, `{"type":"` + ProblemType + `stale`, nil},
		{contentType, ``, nil},
		{"application/json", `{"type":"` + ProblemType + `stale"}`, nil},
		{"", `{"type":"` + ProblemType + `stale"}`, nil},
	} {
		resp := &http.Response{Header: http.Header{"Content-Type": {c.media}}, Body: io.NopCloser(strings.NewReader(c.body))}
		got := Error(resp)
		var refused *fence.RefusedError
		if !errors.Is(got, c.want) || errors.As(got, &refused) {
			t.Errorf("%s: %v, want %v", c.body, got, c.want)
		}
		if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != c.body {
			t.Errorf("what is left of %q is %q, %v", c.body, rest, err)
		}
	}
}
