package xds

import (
	"slices"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

// The names of a request are in its buffer, which is used again for the next one: what is kept is copied.
func TestNamesAreCopiedFromTheBuffer(t *testing.T) {
	const glob = "xdstp://anymesh/t/*"
	for _, sotw := range []bool{false, true} {
		var message proto.Message = &discoveryv3.DeltaDiscoveryRequest{
			TypeUrl: "type.googleapis.com/other.Type", ResourceNamesSubscribe: []string{"missing", glob},
			InitialResourceVersions: map[string]string{"xdstp://anymesh/t/known": "1"},
		}
		if sotw {
			message = &discoveryv3.DiscoveryRequest{
				TypeUrl: "type.googleapis.com/other.Type", ResourceNames: []string{"missing"},
			}
		}
		buffer, err := proto.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		opts := Options{}
		opts.setDefaults()
		request, err := decodeRequest(buffer, sotw, &opts)
		if err != nil {
			t.Fatal(err)
		}
		s := newSession(&opts, &corev3.Node{}, sotw)
		published := newState()
		if _, err := s.handle(request, &published, time.Now()); err != nil {
			t.Fatal(err)
		}
		for i := range buffer {
			buffer[i] = 'x'
		}
		sub := s.subs[0]
		var names []string
		for n := range sub.table.numbers() {
			names = append(names, sub.table.name(n))
		}
		slices.Sort(names)
		want, collections := []string{"missing", "xdstp://anymesh/t/known"}, []collection{"xdstp://anymesh/t"}
		if sotw {
			want, collections = []string{"missing"}, nil
		}
		if !slices.Equal(names, want) || !slices.Equal(sub.collections, collections) ||
			sub.typeURL != "type.googleapis.com/other.Type" {
			t.Errorf("sotw=%t: got names %q and collections %q of type %q", sotw, names, sub.collections, sub.typeURL)
		}
	}
}
