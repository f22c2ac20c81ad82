package model

import (
	"strings"
	"testing"
)

func TestCanonicalPath(t *testing.T) {
	for _, c := range []struct{ name, path, want string }{
		{"canonical path", "/a/b", "/a/b"},
		{"root", "/", "/"},
		{"only slashes", "///", "/"},
		{"not a path", "*", "*"},
		{"unchanged query", "/a?b=//c/../%62", "/a?b=//c/../%62"},
		{"dot segments", "/a/./b/../c", "/a/c"},
		{"trailing dot segment", "/a/b/..", "/a/"},
		{"dot segments above the root", "/../../a", "/a"},
		{"segments with three dots", "/a/.../..b", "/a/.../..b"},
		{"dot segment after empty segment", "/a//../b", "/a/b"},
		{"segment parameters", "/a;x=1/..;y/b", "/b"},
		{"repeated slashes", "//a///b/", "/a/b/"},
		{"escaped dots", "/a/%2e%2E/b", "/b"},
		{"escaped slashes", "/a%2fb%2F..", "/a%2fb%2F.."},
		{"unnecessary escapes", "/%41%7e%2d", "/A~-"},
		{"escaped percent sign", "/%2541", "/%2541"},
		{"incomplete escapes", "/%4/%zz/%", "/%4/%zz/%"},
		{"decoding must not complete an escape", "/%0%30", "/%0%30"},
		{"missing escapes", `/a|b"`, "/a%7Cb%22"},
		{"backslashes", `/a\..\b`, "/b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if have, ok := canonicalPath(c.path); have != c.want || !ok {
				t.Errorf("%s: got %s, want %s", c.path, have, c.want)
			}
		})
	}
	for _, path := range []string{"/a%00b", "/a b", "/é", "/a?é", "/a#b", "/a\x7f"} {
		t.Run(path, func(t *testing.T) {
			if have, ok := canonicalPath(path); ok {
				t.Errorf("got %q, want none", have)
			}
		})
	}
}

// canonicalPath is idempotent. Its result has no dot segments and no repeated slashes.
func FuzzCanonicalPath(f *testing.F) {
	for _, seed := range []string{"/", "//a/../b", "/%2e%2e/x", "/a;b/..;c?d", `/\.%2E;`, "/%2541/%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		once, ok := canonicalPath(path)
		if !ok || !strings.HasPrefix(path, "/") {
			return
		}
		if twice, ok := canonicalPath(once); twice != once || !ok {
			t.Errorf("%q: got %q, then %q", path, once, twice)
		}
		bare, _, _ := strings.Cut(once, "?")
		if strings.Contains(bare, "//") || strings.Contains(bare+"/", "/../") || strings.Contains(bare+"/", "/./") {
			t.Errorf("%q: got %q", path, once)
		}
	})
}

func TestCanonicalHost(t *testing.T) {
	for host, want := range map[string]string{
		"a.b": "a.b", "a.b.": "a.b", "a.b.:80": "a.b:80", "a.b:80": "a.b:80", "a..": "a.", "": "", "[fd00::1]:80": "[fd00::1]:80",
	} {
		if got := canonicalHost(host); got != want {
			t.Errorf("%q: got %q, want %q", host, got, want)
		}
	}
}
