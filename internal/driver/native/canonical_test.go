package native

import (
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/proxy/http1"
	"anymesh.dev/anymesh/model"
)

// FuzzCanonical checks that the proxy makes paths and hosts canonical as the interpreter does.
func FuzzCanonical(f *testing.F) {
	for _, target := range []string{
		"/", "/a/../b", "/..;x/%2e/c", "//a//b?c=//..", `/a\..\b`, "/a%00", "/%", "/%2", "/%7E%7e%2F", `/a"<|>`, "/%25%32%35",
		"/a#b", "/a/.", "/a/..", "/a/b;p/..", "/%2%32e/",
	} {
		f.Add(target, "a.example.:80")
	}
	view := model.View{Inbound: []model.Inbound{{Listener: model.Listener{Port: 80, Protocol: model.HTTP}}}}
	f.Fuzz(func(t *testing.T, target, host string) {
		if !strings.HasPrefix(target, "/") || len(target) > 1000 || len(host) > 100 || strings.Trim(host, " \t") != host || host == "" {
			return
		}
		want := view.DecideInbound(model.Request{Port: 80, Protocol: model.HTTP, Path: target, Host: host})
		r := http1.Request{Canonical: true}
		size, err := r.Parse([]byte("GET "+target+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n"), 0, http1.DefaultLimits)
		about := func(part string) bool { return strings.Contains(err.Error(), part) }
		if err == nil && size == 0 || err != nil && !about("target") && !about("path") && !about("request line") {
			return // the parser is stricter with hosts
		}
		if refused := err != nil; refused != (want.Outcome == model.Malformed) {
			t.Fatalf("%q: the proxy refuses it: %v, the interpreter decides %s", target, err, want.Outcome)
		}
		if err != nil {
			return
		}
		if string(r.Target) != want.Request.Path || string(r.Host) != want.Request.Host {
			t.Errorf("%q of %q: got %q of %q, want %q of %q", target, host, r.Target, r.Host, want.Request.Path, want.Request.Host)
		}
	})
}
