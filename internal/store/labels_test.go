package store

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

func TestLabels(t *testing.T) {
	long := strings.Repeat("x", 300)
	all := map[string]string{"b": "2", "a": "1", "": "empty key", "no value": "", "zero\x00byte": long}
	l := NewLabels(all)
	if got := maps.Collect(l.All()); !maps.Equal(got, all) {
		t.Errorf("got %q", got)
	}
	var keys []string
	for key := range l.All() {
		keys = append(keys, key)
	}
	if !slices.IsSorted(keys) {
		t.Errorf("got keys %q", keys)
	}
	for key, want := range all {
		if got, is := l.Lookup(key); got != want || !is || !l.Has(key) || l.Get(key) != want {
			t.Errorf("%q: got %q, %v", key, got, is)
		}
	}
	if got, is := l.Lookup("1"); got != "" || is || l.Has("1") {
		t.Errorf("a value is no key: got %q, %v", got, is)
	}
	if NewLabels(nil) != "" || NewLabels(maps.Clone(all)) != l {
		t.Error("equal maps are not equal")
	}
}

// Selectors match Labels as they match maps.
func TestSelectorsMatchLabels(t *testing.T) {
	sets := []map[string]string{
		nil, {"a": ""}, {"a": "1"}, {"a": "2", "b": "1"}, {"b": "1"}, {"b": "2", "c": "x"}, {"aa": "1", "ab": "2"},
	}
	matched := 0
	for _, text := range []string{
		"", "a", "!a", "a=", "a=1", "a!=1", "a in (1,2)", "a in ()", "a notin (1,2)", "a in (1),b in (1)", "a>1", "b<2",
		"a,b", "a,!b", "b notin (1),c", "!a,!b,!c", "1",
	} {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range sets {
			want := selector.Matches(labels.Set(set))
			if got := selector.Matches(NewLabels(set)); got != want {
				t.Errorf("%q of %v: got %v, want %v", text, set, got, want)
			}
			if want {
				matched++
			}
		}
	}
	if matched < 20 {
		t.Errorf("only %d matches", matched)
	}
}
