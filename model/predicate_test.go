package model_test

import (
	"encoding/json"
	"testing"

	"anymesh.dev/anymesh/model"
)

// metadata is the metadata of an HTTP connection in the l7mp manual.
const metadata = `{
  "HTTP": {"method": "GET", "url": {"path": "/a/b?q=1", "port": 8080}, "headers": {"host": "example.com", "x": "Word"}},
  "list": ["a", {"k": 1}], "null": null, "yes": true, "empty": ""
}`

func TestPredicates(t *testing.T) {
	var connection map[string]any
	if err := json.Unmarshal([]byte(metadata), &connection); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		predicate string
		want      bool
	}{
		{`{"op": "test", "path": "/HTTP/method", "value": "GET"}`, true},
		{`{"op": "test", "path": "HTTP/method/", "value": "GET"}`, true}, // leading and trailing slashes are ignored
		{`{"op": "test", "path": "/HTTP/method", "value": "get"}`, false},
		{`{"op": "test", "path": "/HTTP/method", "value": "get", "ignoreCase": true}`, true},
		{`{"op": "test", "path": "/HTTP/url/port", "value": 8080}`, true},
		{`{"op": "test", "path": "/HTTP/url/port", "value": "8080"}`, false}, // a string is not a number
		{`{"op": "test", "path": "/yes", "value": 1}`, false},
		{`{"op": "in", "path": "/HTTP/url/port", "value": ["8080"]}`, false},
		{`{"op": "test", "path": "/list", "value": ["a", {"k": 1}]}`, true}, // deep equality
		{`{"op": "test", "path": "/list", "value": ["a", {"k": 2}]}`, false},
		{`{"op": "test", "path": "/yes", "value": true}`, true},
		{`{"op": "test", "path": "/none", "value": "x"}`, false},
		{`{"op": "test", "path": "/HTTP/method/further", "value": "GET"}`, false}, // a string has no children

		{`{"op": "defined", "path": "/HTTP/headers/host"}`, true},
		{`{"op": "defined", "path": "/null"}`, true}, // null is a value
		{`{"op": "defined", "path": "/HTTP/headers/none"}`, false},
		{`{"op": "undefined", "path": "/HTTP/headers/none"}`, true},
		{`{"op": "undefined", "path": "/HTTP"}`, false},

		{`{"op": "contains", "path": "/HTTP/url/path", "value": "b?q"}`, true},
		{`{"op": "contains", "path": "/HTTP/headers/x", "value": "OR", "ignoreCase": true}`, true},
		{`{"op": "contains", "path": "/HTTP/url/port", "value": "80"}`, false}, // not a string
		{`{"op": "contains", "path": "/none", "value": "a"}`, false},
		{`{"op": "starts", "path": "/HTTP/url/path", "value": "/a"}`, true},
		{`{"op": "starts", "path": "/HTTP/url/path", "value": "a"}`, false},
		{`{"op": "ends", "path": "/HTTP/headers/host", "value": ".com"}`, true},
		{`{"op": "ends", "path": "/HTTP/headers/host", "value": "example.co"}`, false},
		{`{"op": "ends", "path": "/empty", "value": ""}`, true},

		{`{"op": "matches", "path": "/HTTP/url/path", "value": "b.q"}`, true}, // anywhere in the string
		{`{"op": "matches", "path": "/HTTP/url/path", "value": "^b"}`, false},
		{`{"op": "matches", "path": "/HTTP/url/path", "value": "("}`, false},
		{`{"op": "matches", "path": "/HTTP/url/port", "value": ".*"}`, false},

		{`{"op": "in", "path": "/HTTP/method", "value": ["PUT", "GET"]}`, true},
		{`{"op": "in", "path": "/HTTP/method", "value": ["PUT"]}`, false},
		{`{"op": "in", "path": "/HTTP/method", "value": "GET"}`, false}, // needs a list
		{`{"op": "less", "path": "/HTTP/url/port", "value": 8081}`, true},
		{`{"op": "less", "path": "/HTTP/url/port", "value": 8080}`, false}, // strictly
		{`{"op": "more", "path": "/HTTP/url/port", "value": 8079}`, true},
		{`{"op": "more", "path": "/HTTP/method", "value": 1}`, false},
		{`{"op": "more", "path": "/HTTP/url/port", "value": "1"}`, false},

		{`{"op": "and", "apply": [{"op": "defined", "path": "/yes"}, {"op": "defined", "path": "/null"}]}`, true},
		{`{"op": "and", "apply": [{"op": "defined", "path": "/yes"}, {"op": "defined", "path": "/none"}]}`, false},
		{`{"op": "and"}`, true},
		{`{"op": "or", "apply": [{"op": "defined", "path": "/none"}, {"op": "defined", "path": "/yes"}]}`, true},
		{`{"op": "or", "apply": [{"op": "defined", "path": "/none"}]}`, false},
		{`{"op": "or"}`, true},
		{`{"op": "not", "apply": [{"op": "defined", "path": "/none"}]}`, true},
		{`{"op": "not", "apply": [{"op": "defined", "path": "/none"}, {"op": "defined", "path": "/yes"}]}`, false}, // no operand may be true

		{`{"op": "sounds-like", "path": "/yes", "value": true}`, false},
		{`{}`, false},
	} {
		t.Run(c.predicate, func(t *testing.T) {
			var p model.Predicate
			if err := json.Unmarshal([]byte(c.predicate), &p); err != nil {
				t.Fatal(err)
			}
			if got := p.Matches(connection); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestPredicateWithoutMetadata(t *testing.T) {
	if (model.Predicate{Op: "defined", Path: "/a"}).Matches(nil) ||
		!(model.Predicate{Op: "undefined", Path: "/a"}).Matches(nil) {
		t.Error("got true without metadata")
	}
}
