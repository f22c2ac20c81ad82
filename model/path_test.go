package model

import (
	"strings"
	"testing"
)

func TestCanonicalPath(t *testing.T) {
	for _, c := range []struct{ why, path, want string }{
		{"nothing to do", "/a/b", "/a/b"},
		{"the root", "/", "/"},
		{"nothing but slashes", "///", "/"},
		{"not a path", "*", "*"},
		{"the query stays", "/a?b=//c/../%62", "/a?b=//c/../%62"},
		{"dots", "/a/./b/../c", "/a/c"},
		{"dots at the end name a folder", "/a/b/..", "/a/"},
		{"dots above the root", "/../../a", "/a"},
		{"dots that are none", "/a/.../..b", "/a/.../..b"},
		{"an empty segment is one segment", "/a//../b", "/a/b"},
		{"parameters", "/a;x=1/..;y/b", "/b"},
		{"slashes", "//a///b/", "/a/b/"},
		{"escaped dots", "/a/%2e%2E/b", "/b"},
		{"escaped slashes", "/a%2fb%2F..", "/a%2fb%2F.."},
		{"needless escapes", "/%41%7e%2d", "/A~-"},
		{"escapes of escapes", "/%2541", "/%2541"},
		{"broken escapes", "/%4/%zz/%", "/%4/%zz/%"},
		{"broken escapes that would be completed", "/%0%30", "/%0%30"},
		{"missing escapes", `/a|b"`, "/a%7Cb%22"},
		{"backslashes", `/a\..\b`, "/b"},
	} {
		if have, ok := canonicalPath(c.path); have != c.want || !ok {
			t.Errorf("%s: %s becomes %s, want %s", c.why, c.path, have, c.want)
		}
	}
	for _, path := range []string{"/a%00b", "/a b", "/é", "/a?é", "/a#b", "/a\x7f"} {
		if have, ok := canonicalPath(path); ok {
			t.Errorf("%q becomes %q, want nothing", path, have)
		}
	}
}

// A canonical path is its own canonical path, has no dot segment and no two slashes in a row.
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
			t.Errorf("%q becomes %q, and that %q", path, once, twice)
		}
		bare, _, _ := strings.Cut(once, "?")
		if strings.Contains(bare, "//") || strings.Contains(bare+"/", "/../") || strings.Contains(bare+"/", "/./") {
			t.Errorf("%q becomes %q", path, once)
		}
	})
}
