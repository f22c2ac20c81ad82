package ingress_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/api/ingress"
)

func TestParseRewritePrefix(t *testing.T) {
	for value, wrong := range map[string]string{
		"/": "", "/a/b": "", "/a%20b": "", "/a,b;c=1": "", "/a/": "",
		"":      `has to begin with "/"`,
		"a":     `has to begin with "/"`,
		"/a?b":  "a query or a fragment",
		"/a#b":  "a query or a fragment",
		"/a b":  "percent-encoding",
		"/a\n":  "percent-encoding",
		"/ä":    "percent-encoding",
		"/a{b}": "percent-encoding",
		"/%zz":  "invalid URL escape",
	} {
		got, err := ingress.ParseRewritePrefix(value)
		check(t, value, "anymesh.dev/rewrite-prefix", err, wrong)
		if err == nil && got != value {
			t.Errorf("%q: got %q", value, got)
		}
	}
}

func TestParseRequestHeaders(t *testing.T) {
	for value, wrong := range map[string]string{
		`{}`: "", `{"A":"b"}`: "", ` { "A" : "" } `: "",
		``:                       "not a JSON object",
		`[]`:                     "not a JSON object",
		`null`:                   "not a JSON object",
		`{"A":"b"`:               "not a JSON object",
		`{"A":"b"} {}`:           "not a JSON object",
		`{"A":"b"}}`:             "not a JSON object",
		`{"A"}`:                  "not a JSON object",
		`{"A":1}`:                `the value of "A" is not a text`,
		`{"A":null}`:             `the value of "A" is not a text`,
		`{"A":"1","a":"2"}`:      "occurs twice",
		`{"A":"1","A":"1"}`:      "occurs twice",
		`{"":"1"}`:               "not the name of a header",
		`{"A B":"1"}`:            "not the name of a header",
		`{":path":"1"}`:          "not the name of a header",
		`{"Host":"a"}`:           `the proxy sets the header "Host" itself`,
		`{"A":"1\r\nEvil: yes"}`: "control character",
	} {
		_, err := ingress.ParseRequestHeaders(value)
		check(t, value, "anymesh.dev/request-headers", err, wrong)
	}
}

func TestFormatRequestHeaders(t *testing.T) {
	headers := []ingress.Header{{Name: "X-B", Value: `a "<&>" %5$`}, {Name: "x-a", Value: "ä"}}
	text := ingress.FormatRequestHeaders(headers)
	if want := `{"x-a":"ä","X-B":"a \"<&>\" %5$"}`; text != want {
		t.Fatalf("got %s, want %s", text, want)
	}
	got, err := ingress.ParseRequestHeaders(text)
	if want := []ingress.Header{headers[1], headers[0]}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestParseTimeout(t *testing.T) {
	for value, wrong := range map[string]string{
		"90s": "", "1m30s": "", "250ms": "",
		"": "not a duration", "90": "not a duration", "0s": "not positive", "-1s": "not positive",
	} {
		got, err := ingress.ParseTimeout(ingress.ReadTimeout, value)
		check(t, value, "anymesh.dev/read-timeout", err, wrong)
		if want, _ := time.ParseDuration(value); err == nil && got != want {
			t.Errorf("%q: got %s", value, got)
		}
	}
}

func TestParseDefaultBackend(t *testing.T) {
	for value, wrong := range map[string]string{
		"a:80": "", "fallback-1:65535": "",
		"":         "not NAME:PORT",
		"a":        "not NAME:PORT",
		"a:b:c":    "not NAME:PORT",
		"a:0":      "not a number from 1 to 65535",
		"a:65536":  "not a number from 1 to 65535",
		"a:http":   "not a number from 1 to 65535",
		":80":      "not the name of a Service",
		"A:80":     "not the name of a Service",
		"ns/a:80":  "not the name of a Service",
		"a.svc:80": "not the name of a Service",
	} {
		got, err := ingress.ParseDefaultBackend(value)
		check(t, value, "anymesh.dev/default-backend", err, wrong)
		if err == nil && got.String() != value {
			t.Errorf("%q: got %s", value, got)
		}
	}
}

func check(t *testing.T, value, annotation string, err error, wrong string) {
	t.Helper()
	switch {
	case wrong == "" && err != nil:
		t.Errorf("%q: %v", value, err)
	case wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong) || !strings.Contains(err.Error(), annotation)):
		t.Errorf("%q: got %v, want an error with %q", value, err, wrong)
	}
}
