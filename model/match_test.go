package model_test

import (
	"fmt"
	"testing"

	"anymesh.dev/anymesh/model"
)

func TestMatchPath(t *testing.T) {
	for _, c := range []struct {
		kind  model.MatchKind
		value string
		path  string
		want  bool
	}{
		{"", "", "/anything", true},
		{model.Exact, "/a", "/a", true},
		{model.Exact, "/a", "/a?q=1", true}, // the query is not part of the path
		{model.Exact, "/a", "/A", false},
		{model.Exact, "/a", "/a/", false},
		{model.Prefix, "/a", "/a", true},
		{model.Prefix, "/a", "/a/b", true},
		{model.Prefix, "/a", "/ab", true}, // strings, not segments
		{model.Prefix, "/a", "/b/a", false},
		{model.Prefix, "/a?x", "/a?x=1", false}, // the query is not part of the path
		{model.Suffix, ".png", "/cat.png", true},
		{model.Suffix, ".png", "/cat.png?size=1", true},
		{model.Suffix, ".png", "/cat.png/x", false},
		{model.Regex, "/a.*z", "/abcz", true},
		{model.Regex, "/a.*z", "/abczd", false}, // must match the whole string
		{model.Regex, "a", "/a", false},
		{model.Regex, "/a|/b", "/b", true}, // anchors apply to the whole expression
		{model.Regex, "/a|/b", "/bb", false},
		{model.Regex, "(", "(", false},      // invalid expressions match nothing
		{model.Regex, "/a$", "/a\n", false}, // a newline is not ignored
		{"Fuzzy", "/a", "/a", false},        // unknown kinds match nothing
		{model.Present, "/a", "/a", false},  // not valid for paths
		{model.Range, "", "/1", false},      // not valid for paths
		{model.Exact, "", "", true},
		{model.Prefix, "", "/anything", true},
		{model.Regex, ".*", "/anything", true}, // common in App Mesh routes
	} {
		t.Run(fmt.Sprintf("%s_%q_%q", c.kind, c.value, c.path), func(t *testing.T) {
			m := model.Match{Path: model.StringMatch{Kind: c.kind, Value: c.value}}
			if got := m.Matches(model.Request{Path: c.path}); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestMatchHeaders(t *testing.T) {
	request := model.Request{Headers: []model.Header{
		{Name: "X-One", Value: "1"}, {Name: "x-word", Value: "Word"}, {Name: "X-Many", Value: "a"}, {Name: "x-many", Value: "b"}, {Name: "x-empty"},
		{Name: "x-negative", Value: "-3"}, {Name: "x-large", Value: "99999999999999999999"},
	}}
	for _, c := range []struct {
		field model.FieldMatch
		want  bool
	}{
		{model.FieldMatch{Name: "x-one", Kind: model.Exact, Value: "1"}, true}, // names ignore case
		{model.FieldMatch{Name: "x-word", Kind: model.Exact, Value: "word"}, false},
		{model.FieldMatch{Name: "x-many", Kind: model.Exact, Value: "a,b"}, true}, // several fields are joined
		{model.FieldMatch{Name: "x-many", Kind: model.Exact, Value: "a"}, false},
		{model.FieldMatch{Name: "x-word", Kind: model.Prefix, Value: "Wo"}, true},
		{model.FieldMatch{Name: "x-word", Kind: model.Suffix, Value: "rd"}, true},
		{model.FieldMatch{Name: "x-word", Kind: model.Regex, Value: "W.*"}, true},
		{model.FieldMatch{Name: "x-word", Kind: model.Regex, Value: "W"}, false},
		{model.FieldMatch{Name: "x-one", Kind: model.Present}, true},
		{model.FieldMatch{Name: "x-empty", Kind: model.Present}, true},
		{model.FieldMatch{Name: "x-none", Kind: model.Present}, false},
		{model.FieldMatch{Name: "x-none", Kind: model.Present, Invert: true}, true},

		{model.FieldMatch{Name: "x-one", Kind: model.Range, Start: 1, End: 2}, true},
		{model.FieldMatch{Name: "x-one", Kind: model.Range, Start: 0, End: 1}, false}, // the end is exclusive
		{model.FieldMatch{Name: "x-negative", Kind: model.Range, Start: -3, End: 0}, true},
		{model.FieldMatch{Name: "x-word", Kind: model.Range, Start: 0, End: 9}, false},
		{model.FieldMatch{Name: "x-large", Kind: model.Range, Start: 0, End: 1 << 62}, false},
		{model.FieldMatch{Name: "x-none", Kind: model.Range, Start: 0, End: 1}, false},

		{model.FieldMatch{Name: "x-one", Kind: model.Exact, Value: "1", Invert: true}, false},
		{model.FieldMatch{Name: "x-one", Kind: model.Exact, Value: "2", Invert: true}, true},
		{model.FieldMatch{Name: "x-none", Kind: model.Exact, Value: "2", Invert: true}, true}, // absent counts as empty if inverted
		{model.FieldMatch{Name: "x-none", Kind: model.Exact, Invert: true}, false},
		{model.FieldMatch{Name: "x-none", Kind: model.Exact}, false}, // absent does not equal empty
	} {
		t.Run(fmt.Sprintf("%s_%s_%s", c.field.Name, c.field.Kind, c.field.Value), func(t *testing.T) {
			if got := (model.Match{Headers: []model.FieldMatch{c.field}}).Matches(request); got != c.want {
				t.Errorf("%+v: got %v", c.field, got)
			}
		})
	}
}

func TestMatchQueryParameters(t *testing.T) {
	for _, c := range []struct {
		path  string
		field model.FieldMatch
		want  bool
	}{
		{"/?a=1&b=2", model.FieldMatch{Name: "b", Kind: model.Exact, Value: "2"}, true},
		{"/?a=1&a=2", model.FieldMatch{Name: "a", Kind: model.Exact, Value: "2"}, false}, // the first parameter is compared
		{"/?A=1", model.FieldMatch{Name: "a", Kind: model.Exact, Value: "1"}, false},     // names are case-sensitive
		{"/?a=%31", model.FieldMatch{Name: "a", Kind: model.Exact, Value: "1"}, false},   // values are not decoded
		{"/?a=b=c", model.FieldMatch{Name: "a", Kind: model.Exact, Value: "b=c"}, true},
		{"/?a", model.FieldMatch{Name: "a", Kind: model.Present}, true},
		{"/?ab=1", model.FieldMatch{Name: "a", Kind: model.Present}, false},
		{"/", model.FieldMatch{Name: "a", Kind: model.Present}, false},
		{"/a=1", model.FieldMatch{Name: "a", Kind: model.Exact, Value: "1"}, false}, // not a query
		{"/?&&", model.FieldMatch{Name: "", Kind: model.Present}, false},
	} {
		t.Run(c.path, func(t *testing.T) {
			if got := (model.Match{Query: []model.FieldMatch{c.field}}).Matches(model.Request{Path: c.path}); got != c.want {
				t.Errorf("%+v: got %v", c.field, got)
			}
		})
	}
}

func TestMatchHosts(t *testing.T) {
	for _, c := range []struct {
		hosts []string
		host  string
		want  bool
	}{
		{nil, "anything", true},
		{[]string{"a.example"}, "A.Example", true},
		{[]string{"a.example"}, "a.example:8080", true},
		{[]string{"a.example"}, "b.a.example", false},
		{[]string{"x", "a.example"}, "a.example", true},
		{[]string{"*.example"}, "a.b.example", true},
		{[]string{"*.example"}, ".example", false}, // * matches at least one character
		{[]string{"*.example"}, "example", false},
	} {
		t.Run(fmt.Sprintf("%s_%q", c.host, c.hosts), func(t *testing.T) {
			if got := (model.Match{Hosts: c.hosts}).Matches(model.Request{Host: c.host}); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestMatchIsConjunction(t *testing.T) {
	request := model.Request{
		Host: "h", Path: "/p?q=1", Method: "GET", Scheme: "http",
		Headers: []model.Header{{Name: "x", Value: "1"}}, Metadata: map[string]any{"k": "v"},
	}
	all := model.Match{
		Hosts: []string{"h"}, Path: model.StringMatch{Kind: model.Exact, Value: "/p"}, Method: "GET", Scheme: "HTTP",
		Headers:   []model.FieldMatch{{Name: "x", Kind: model.Present}},
		Query:     []model.FieldMatch{{Name: "q", Kind: model.Present}},
		Predicate: &model.Predicate{Op: "test", Path: "/k", Value: "v"},
	}
	if !all.Matches(request) {
		t.Fatal("no match although all conditions are met")
	}
	for name, modify := range map[string]func(*model.Match){
		"host":   func(m *model.Match) { m.Hosts = []string{"other"} },
		"path":   func(m *model.Match) { m.Path.Value = "/other" },
		"method": func(m *model.Match) { m.Method = "get" }, // methods are case-sensitive
		"scheme": func(m *model.Match) { m.Scheme = "https" },
		"header": func(m *model.Match) {
			m.Headers = append(m.Headers[:1:1], model.FieldMatch{Name: "y", Kind: model.Present})
		},
		"query": func(m *model.Match) {
			m.Query = append(m.Query[:1:1], model.FieldMatch{Name: "y", Kind: model.Present})
		},
		"predicate": func(m *model.Match) { m.Predicate = &model.Predicate{Op: "test", Path: "/k", Value: "w"} },
	} {
		t.Run(name, func(t *testing.T) {
			m := all
			modify(&m)
			if m.Matches(request) {
				t.Error("got a match, want none")
			}
		})
	}
}
