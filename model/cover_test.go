package model

import (
	"math/rand/v2"
	"testing"
)

func TestCovers(t *testing.T) {
	path := func(kind MatchKind, value string) Match { return Match{Path: StringMatch{kind, value}} }
	color := func(f FieldMatch) Match { f.Name = "color"; return Match{Headers: []FieldMatch{f}} }
	for name, c := range map[string]struct {
		m, o Match
		want bool
	}{
		"everything":                 {Match{}, path(Regex, "a.*"), true},
		"prefix of a prefix":         {path(Prefix, "/a"), path(Prefix, "/ab"), true},
		"longer prefix":              {path(Prefix, "/ab"), path(Prefix, "/a"), false},
		"prefix of an exact path":    {path(Prefix, "/"), path(Exact, "/x"), true},
		"exact path":                 {path(Exact, "/x"), path(Prefix, "/x"), false},
		"equal expressions":          {path(Regex, "/a+"), path(Regex, "/a+"), true},
		"expression of a path":       {path(Regex, "/a+"), path(Exact, "/aa"), false},
		"elements of a prefix":       {path(PathPrefix, "/a"), path(Prefix, "/a"), false},
		"elements of a longer path":  {path(PathPrefix, "/a"), path(Prefix, "/a/b"), true},
		"all elements":               {path(PathPrefix, "/"), path(PathPrefix, "/a"), true},
		"a method more":              {Match{}, Match{Method: "GET"}, true},
		"a method less":              {Match{Method: "GET"}, Match{}, false},
		"another scheme":             {Match{Scheme: "http"}, Match{Scheme: "https"}, false},
		"a header more":              {Match{}, color(FieldMatch{Kind: Exact, Value: "red"}), true},
		"a header less":              {color(FieldMatch{Kind: Exact, Value: "red"}), Match{}, false},
		"another value":              {color(FieldMatch{Kind: Exact, Value: "red"}), color(FieldMatch{Kind: Exact, Value: "blue"}), false},
		"presence":                   {color(FieldMatch{Kind: Present}), color(FieldMatch{Kind: Exact, Value: "red"}), true},
		"presence and another value": {color(FieldMatch{Kind: Present}), color(FieldMatch{Kind: Exact, Value: "red", Invert: true}), false},
		"a host":                     {Match{Hosts: []string{"*.a.b"}}, Match{Hosts: []string{"x.a.b"}}, true},
		"every host":                 {Match{Hosts: []string{"a.b"}}, Match{}, false},
	} {
		if got := c.m.Covers(c.o); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// A match that covers another one matches each request that the other one matches.
func TestCoversAgreesWithMatches(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	match := func() Match {
		m := Match{Method: pick("", "", "GET", "PUT"), Scheme: pick("", "", "http", "https")}
		m.Path = StringMatch{MatchKind(pick("", "Exact", "Prefix", "PathPrefix", "Suffix", "Regex")), pick("/", "/a", "/a/", "/a/b", "/ab", "b")}
		if m.Path.Kind == "" {
			m.Path.Value = ""
		}
		if random.IntN(2) == 0 {
			m.Headers = []FieldMatch{{
				Name: pick("x", "X", "y"), Kind: MatchKind(pick("Exact", "Present", "Prefix")), Value: pick("", "1", "12"), Invert: random.IntN(2) == 0,
			}}
		}
		if random.IntN(3) == 0 {
			m.Hosts = []string{pick("a.b", "*.b", "x.a.b", "*")}
		}
		return m
	}
	covered := 0
	for range 200_000 {
		m, o := match(), match()
		if !m.Covers(o) {
			continue
		}
		for range 20 {
			r := Request{Host: pick("a.b", "x.a.b", "c"), Path: pick("/", "/a", "/a/", "/a/b", "/ab", "/b", "b"), Method: pick("GET", "PUT")}
			if name := pick("", "x", "y"); name != "" {
				r.Headers = []Header{{Name: name, Value: pick("", "1", "12")}}
			}
			if !o.Matches(r) {
				continue
			}
			if covered++; !m.Matches(r) {
				t.Fatalf("%+v covers %+v, but does not match %+v", m, o, r)
			}
		}
	}
	if covered < 1000 {
		t.Errorf("got %d requests that a covered match matches, want more", covered)
	}
}
