package provider_test

import (
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/trait/provider"
)

func TestObjectNames(t *testing.T) {
	long := strings.Repeat("x", 63)
	if got := provider.ObjectName("web", "api"); got != "web-api" {
		t.Errorf("got %s", got)
	}
	if got := provider.ObjectName(long); got != long {
		t.Errorf("a name of 63 characters became %s", got)
	}
	seen := map[string]bool{}
	for _, parts := range [][]string{{long, "a"}, {long, "b"}, {long + "-a", "b"}, {long, "a-b"}, {long + "a"}} {
		name := provider.ObjectName(parts...)
		if len(name) > 63 || seen[name] || name != provider.ObjectName(parts...) {
			t.Errorf("%v: the name %s is too long, not unique or not stable", parts, name)
		}
		seen[name] = true
	}
	if got := provider.ObjectName(strings.Repeat("x", 53)+".-y", "abcdefgh"); strings.Contains(got, ".-") {
		t.Errorf("the cut name %s is not valid", got)
	}
}

func TestCheckPath(t *testing.T) {
	for path, wrong := range map[string]string{
		"/": "", "/a": "", "/a/": "", "/a.b/~c": "", "/%20": "", "/a/..b": "",
		"":                              `has to begin with "/"`,
		"a":                             `has to begin with "/"`,
		"/a//b":                         `contains "//"`,
		"/a/./b":                        `contains "/./"`,
		"/../b":                         `contains "/../"`,
		"/a%2Fb":                        `contains "%2f"`,
		"/a/..":                         "relative element",
		"/a/.":                          "relative element",
		"/a?b":                          "query",
		"/a[b]":                         "percent-encoding",
		"/a b":                          "percent-encoding",
		"/a%":                           "invalid URL escape",
		"/a;b|c":                        "percent-encoding",
		"/(.*)$1":                       "", // characters of regular expressions are characters of paths
		"/" + strings.Repeat("a", 1024): "more than 1024",
	} {
		err := provider.CheckPath(path)
		if wrong == "" && err != nil || wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("%.40q: got %v, want %q", path, err, wrong)
		}
	}
}

func TestConditions(t *testing.T) {
	object := map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Other", "status": "True"},
		map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(2), "message": "Served."},
	}}}
	ready := provider.ConditionOf(object, "Ready", "status", "conditions")
	if !ready.IsTrue(2) || ready.IsTrue(3) || ready.Describe(2) != "Served" {
		t.Errorf("got %+v", ready)
	}
	if text := ready.Describe(3); text != "its controller has not seen the last change yet" {
		t.Errorf("got %q", text)
	}
	if text := provider.ConditionOf(object, "Missing", "status", "conditions").Describe(1); !strings.Contains(text, "not set") {
		t.Errorf("got %q", text)
	}
}
