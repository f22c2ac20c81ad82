package store

import (
	"maps"
	"slices"
	"strings"
	"testing"
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
