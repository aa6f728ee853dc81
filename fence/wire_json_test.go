package fence_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/etcdfence/etcdfence/fence"
)

func TestJSONRoundTrip(t *testing.T) {
	jsonDirect.roundTrip(t)
	codec{json.Marshal, func(v any, b []byte) error { return json.Unmarshal(b, v) }}.roundTrip(t)
}

func TestJSONSpelling(t *testing.T) {
	tok := mint(t, "orders/42", 1, 53, "me")
	for _, c := range []struct {
		v    any
		want string
	}{
		{tok, `{"lock":"orders/42","epoch":"1","revision":"53","owner":"me"}`},
		{tok.At(7), `{"lock":"orders/42","epoch":"1","revision":"53","sequence":"7","owner":"me"}`},
		{tok.At(0), `{"lock":"orders/42","epoch":"1","revision":"53","sequence":"0","owner":"me"}`},
		{fence.Token{}, "null"},
		{fence.Stamp{}, "null"},
		{(*fence.Token)(nil), "null"},
	} {
		if got, err := json.Marshal(c.v); err != nil || string(got) != c.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
		}
	}
}

// Stores and proxies reorder fields, re-indent, and escape as they like.
func TestJSONReformatted(t *testing.T) {
	const in = " {\n \"owner\" : \"m\\u0065\", \"revision\":\"53\",\t\"lock\":\"orders\\/42\", \"epoch\":\"1\" } \n"
	var tok fence.Token
	mustBe(t, in, tok.UnmarshalJSON([]byte(in)), nil)
	if want := mint(t, "orders/42", 1, 53, "me"); tok != want {
		t.Errorf("got %v, want %v", tok, want)
	}
}

func TestJSONMalformed(t *testing.T) {
	const rest = `"epoch":"0","owner":"o"`
	// Each row is wrong in one way as a token; with a sequence put in, as a stamp.
	for name, in := range map[string]string{
		"nothing":               ``,
		"cut off":               `{"lock":"l","revision":"1",` + rest,
		"two values":            `{"lock":"l","revision":"1",` + rest + `} {}`,
		"null and more":         `null null`,
		"empty object":          `{}`,
		"array":                 `["l","0","1","o"]`,
		"string":                `"v1;e=0;r=1;o=o;l=l"`,
		"number":                `53`,
		"true":                  `true`,
		"number not a string":   `{"lock":"l","revision":1,` + rest + `}`,
		"number is null":        `{"lock":"l","revision":null,` + rest + `}`,
		"number is an object":   `{"lock":"l","revision":{},` + rest + `}`,
		"number is an array":    `{"lock":"l","revision":["1"],` + rest + `}`,
		"fraction":              `{"lock":"l","revision":"1.0",` + rest + `}`,
		"exponent":              `{"lock":"l","revision":"1e3",` + rest + `}`,
		"space":                 `{"lock":"l","revision":" 1",` + rest + `}`,
		"leading zero":          `{"lock":"l","revision":"01",` + rest + `}`,
		"one past int64":        `{"lock":"l","revision":"9223372036854775808",` + rest + `}`,
		"revision 0":            `{"lock":"l","revision":"0",` + rest + `}`,
		"negative revision":     `{"lock":"l","revision":"-1",` + rest + `}`,
		"empty revision":        `{"lock":"l","revision":"",` + rest + `}`,
		"revision missing":      `{"lock":"l",` + rest + `}`,
		"lock missing":          `{"revision":"1",` + rest + `}`,
		"lock empty":            `{"lock":"","revision":"1",` + rest + `}`,
		"lock null":             `{"lock":null,"revision":"1",` + rest + `}`,
		"unknown field":         `{"lock":"l","revision":"1","x":"1",` + rest + `}`,
		"field twice":           `{"lock":"l","revision":"1","revision":"99",` + rest + `}`,
		"field twice, the same": `{"lock":"l","revision":"1","revision":"1",` + rest + `}`,
		"field in capitals":     `{"lock":"l","Revision":"1",` + rest + `}`,
		"control character":     `{"lock":"l\n","revision":"1",` + rest + `}`,
		"not UTF-8":             "{\"lock\":\"\xff\",\"revision\":\"1\"," + rest + `}`,
		"half a surrogate pair": `{"lock":"\ud800","revision":"1",` + rest + `}`,
		"lock too long":         `{"lock":"` + strings.Repeat("l", fence.MaxLock+1) + `","revision":"1",` + rest + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			jsonDirect.refuses(t, "token", []byte(in), fence.ErrBadToken)
			jsonDirect.refuses(t, "stamp", []byte(strings.Replace(in, `"epoch"`, `"sequence":"1","epoch"`, 1)), fence.ErrBadToken)
		})
	}
	for name, sequence := range map[string]string{
		"negative": `"-1"`, "empty": `""`, "a number": `1`, "null": `null`, "past int64": `"9223372036854775808"`,
	} {
		t.Run("sequence "+name, func(t *testing.T) {
			jsonDirect.refuses(t, "stamp", []byte(`{"lock":"l","revision":"1","sequence":`+sequence+`,`+rest+`}`), fence.ErrBadToken)
		})
	}
}

// A reused struct must not keep the token of the request before.
func TestJSONNullClears(t *testing.T) {
	request := struct {
		Token fence.Token
		Stamp fence.Stamp
	}{token(t, 1), token(t, 1).At(1)}
	mustBe(t, "null", json.Unmarshal([]byte(`{"Token":null,"Stamp":null}`), &request), nil)
	if !request.Token.IsZero() || !request.Stamp.IsZero() {
		t.Errorf("got %v and %v, want nothing", request.Token, request.Stamp)
	}
}
