package xds

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// modelClient is a model of a delta client, written from the protocol's documentation. It applies responses, and
// lists its resources when it reconnects.
type modelClient struct {
	types map[string]*modelType
}

type modelType struct {
	wildcard bool
	names    map[string]bool
	has      map[string]string // version by name
	absent   map[string]bool   // names reported as not existing
}

func newModelClient() *modelClient { return &modelClient{types: map[string]*modelType{}} }

func (c *modelClient) of(typeURL string) *modelType {
	if c.types[typeURL] == nil {
		c.types[typeURL] = &modelType{names: map[string]bool{}, has: map[string]string{}, absent: map[string]bool{}}
	}
	return c.types[typeURL]
}

// ask records a subscription change that is sent to the server.
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
		maps.DeleteFunc(m.has, func(n, _ string) bool { return !m.selects(n) })
	}
}

// apply applies a response. Resources without a subscription are dropped.
func (c *modelClient) apply(r *discoveryv3.DeltaDiscoveryResponse) {
	m := c.of(r.GetTypeUrl())
	for _, res := range r.GetResources() {
		if m.selects(res.GetName()) {
			m.has[res.GetName()] = res.GetVersion()
			delete(m.absent, res.GetName())
		}
	}
	for _, n := range r.GetRemovedResources() {
		delete(m.has, n)
		m.absent[n] = true
	}
}

// selects reports whether the client subscribes to a name, to its collection or to all names.
func (m *modelType) selects(name string) bool {
	return m.wildcard || m.names[name] || m.names[name[:strings.LastIndex(name, "/")+1]+"*"]
}

// wants returns the published resources that match the subscription.
func (m *modelType) wants(published *table) map[string]string {
	want := map[string]string{}
	if published == nil {
		return want
	}
	for n := range published.numbers() {
		if r := published.resource(n); r != nil && m.selects(r.Name) {
			want[r.Name] = r.Version
		}
	}
	return want
}

// text creates a resource of any type URL; the server does not decode the body.
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
		panic(err) // the resources of tests are valid
	}
	return s
}

// shared creates shared resources.
func shared(t testing.TB, resources ...*Resource) *Shared {
	t.Helper()
	s, err := NewShared(resources...)
	if err != nil {
		panic(err) // the resources of tests are valid
	}
	return s
}

// sharing returns a snapshot that has only shared resources.
func sharing(t testing.TB, s *Shared) *Snapshot {
	t.Helper()
	with, err := s.With()
	if err != nil {
		panic(err) // the resources of tests are valid
	}
	return with
}

// bytesOf returns an encoded response, and checks its size.
func bytesOf(t testing.TB, r *response) []byte {
	t.Helper()
	parts, size := r.encode()
	all := slices.Concat(parts...)
	if len(all) != size {
		t.Fatalf("encode returned %d bytes and size %d", len(all), size)
	}
	return all
}

// wire returns a response as a client decodes it.
func wire(t testing.TB, r *response) *discoveryv3.DeltaDiscoveryResponse {
	t.Helper()
	out := &discoveryv3.DeltaDiscoveryResponse{}
	if err := proto.Unmarshal(bytesOf(t, r), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// summarizeDelta formats a response: "cluster +a +b -c".
func summarizeDelta(r *discoveryv3.DeltaDiscoveryResponse) string {
	s := typeLabel(r.GetTypeUrl())
	for _, res := range r.GetResources() {
		s += " +" + res.GetName()
	}
	for _, n := range r.GetRemovedResources() {
		s += " -" + n
	}
	return fmt.Sprint(s)
}
