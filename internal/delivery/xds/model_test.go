package xds

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// modelClient is what a delta client knows, written from the protocol's
// documentation: it applies responses, and says what it has when it reconnects.
type modelClient struct {
	types map[string]*modelType
}

type modelType struct {
	wildcard bool
	names    map[string]bool
	has      map[string]string // name -> version
	absent   map[string]bool   // heard that there is none
}

func newModelClient() *modelClient { return &modelClient{types: map[string]*modelType{}} }

func (c *modelClient) of(typeURL string) *modelType {
	if c.types[typeURL] == nil {
		c.types[typeURL] = &modelType{names: map[string]bool{}, has: map[string]string{}, absent: map[string]bool{}}
	}
	return c.types[typeURL]
}

// ask notes a subscription change that is on its way to the server.
func (c *modelClient) ask(req *discoveryv3.DeltaDiscoveryRequest, first bool) {
	m := c.of(req.GetTypeUrl())
	if first && len(req.GetResourceNamesSubscribe()) == 0 && wildcardByDefault(req.GetTypeUrl()) {
		m.wildcard = true
	}
	for _, n := range req.GetResourceNamesUnsubscribe() {
		switch {
		case n == "*":
			m.wildcard = false
		default:
			delete(m.names, n)
		}
	}
	for _, n := range req.GetResourceNamesSubscribe() {
		if n == "*" {
			m.wildcard = true
		} else {
			m.names[n] = true
		}
	}
	if !m.wildcard {
		maps.DeleteFunc(m.has, func(n, _ string) bool { return !m.names[n] })
	}
}

// apply takes a response in. Resources that it lost interest in meanwhile are dropped.
func (c *modelClient) apply(r *discoveryv3.DeltaDiscoveryResponse) {
	m := c.of(r.GetTypeUrl())
	for _, res := range r.GetResources() {
		if m.wildcard || m.names[res.GetName()] {
			m.has[res.GetName()] = res.GetVersion()
			delete(m.absent, res.GetName())
		}
	}
	for _, n := range r.GetRemovedResources() {
		delete(m.has, n)
		m.absent[n] = true
	}
}

// wants is the published state restricted to the subscription.
func (m *modelType) wants(published *table) map[string]string {
	want := map[string]string{}
	if published == nil {
		return want
	}
	for n := range published.slots {
		if r := published.resource(uint32(n)); r != nil && (m.wildcard || m.names[r.Name]) {
			want[r.Name] = r.Version
		}
	}
	return want
}

// text makes a resource of any type URL: the server does not look inside.
func text(typeURL, name, content string) *Resource {
	body, err := proto.Marshal(wrapperspb.String(content))
	if err != nil {
		panic(err)
	}
	return newResource(name, typeURL, body)
}

func snapshot(t testing.TB, resources ...*Resource) *Snapshot {
	t.Helper()
	s, err := NewSnapshot(resources...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bytesOf is a response as it is written, which is of the size that is counted.
func bytesOf(t testing.TB, r *response) []byte {
	t.Helper()
	parts, size := r.encode()
	all := slices.Concat(parts...)
	if len(all) != size {
		t.Fatalf("%d bytes are counted as %d", len(all), size)
	}
	return all
}

// wire is a response as a client decodes it.
func wire(t testing.TB, r *response) *discoveryv3.DeltaDiscoveryResponse {
	t.Helper()
	out := &discoveryv3.DeltaDiscoveryResponse{}
	if err := proto.Unmarshal(bytesOf(t, r), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// brief is a response in one line: "cluster +a +b -c".
func brief(r *discoveryv3.DeltaDiscoveryResponse) string {
	s := label(r.GetTypeUrl())
	for _, res := range r.GetResources() {
		s += " +" + res.GetName()
	}
	for _, n := range r.GetRemovedResources() {
		s += " -" + n
	}
	return fmt.Sprint(s)
}
