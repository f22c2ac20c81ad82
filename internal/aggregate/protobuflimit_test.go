package aggregate

import (
	"bufio"
	"net/http"
	"testing"

	"anymesh.dev/anymesh/internal/aggregate/rewrite"
	"anymesh.dev/anymesh/test/poll"
)

// TestConversionsToProtobufAreLimited guards the CPU and the memory of the server against clients that ask for lists in
// protobuf, or for watches that begin with the current objects: further requests get 429, and JSON goes on.
func TestConversionsToProtobufAreLimited(t *testing.T) {
	l := newLab(t, 1)
	l.put(0, "p")
	version := l.listVersion()
	const initial = podPath + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	get := func(media, path string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer jane"}, "Accept": {media}}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	protobuf := rewrite.Protobuf + ";stream=watch," + rewrite.Protobuf
	var held []func()
	for range MaxConversions {
		release, err := l.inFlight.convert()
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, release)
	}
	for _, path := range []string{podPath, initial, podPath + "?watch=1"} {
		if r := get(protobuf, path); r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "1" {
			t.Errorf("%s without a slot: %s %v", path, r.Status, r.Header)
		}
		if r := get("application/json", path); r.StatusCode != http.StatusOK {
			t.Errorf("%s in JSON: %s", path, r.Status)
		}
	}
	if r := get(protobuf, podPath+"?watch=1&resourceVersion="+version); r.StatusCode != http.StatusOK {
		t.Errorf("a watch that resumes: %s", r.Status)
	}
	wantsRefused(t, l.metrics, reasonConversions, 3)
	held[0]()
	held[0]() // has no effect
	free := func() bool { return len(l.inFlight.conversions) == MaxConversions-1 }
	for _, path := range []string{podPath, initial, podPath + "?watch=1"} {
		r := get(protobuf, path)
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, r.Status)
		}
		if _, err := bufio.NewReader(r.Body).ReadByte(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		poll.Until(t, "the slot of "+path+", while watches are open", free)
	}
}
