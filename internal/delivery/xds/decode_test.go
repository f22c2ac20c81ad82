package xds

import (
	"reflect"
	"testing"
	"unicode/utf8"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

// For any bytes, the result equals that of the protobuf library, except for the extensions of the node.
func FuzzDecodeRequest(f *testing.F) {
	for _, m := range []proto.Message{
		&discoveryv3.DeltaDiscoveryRequest{Node: envoyNode(), TypeUrl: ClusterType,
			ResourceNamesSubscribe: []string{"a", "", "b"}, ResourceNamesUnsubscribe: []string{"*"},
			InitialResourceVersions: map[string]string{"a": "1"}, ResponseNonce: "7"},
		&discoveryv3.DeltaDiscoveryRequest{TypeUrl: EndpointType, ResponseNonce: "8"},
		&discoveryv3.DiscoveryRequest{TypeUrl: RouteType, ResponseNonce: "8", VersionInfo: "2"},
		&discoveryv3.DiscoveryRequest{Node: &corev3.Node{Id: "blue"}, TypeUrl: ClusterType,
			ResourceNames: []string{"a", "b"}, VersionInfo: "1"},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var delta, deltaWant discoveryv3.DeltaDiscoveryRequest
		err, want := decode(b, &delta), proto.Unmarshal(b, &deltaWant)
		checkDecoded(t, &delta, &deltaWant, deltaWant.GetNode(), err, want,
			append(delta.ResourceNamesSubscribe, delta.ResourceNamesUnsubscribe...))
		var world, worldWant discoveryv3.DiscoveryRequest
		err, want = decode(b, &world), proto.Unmarshal(b, &worldWant)
		checkDecoded(t, &world, &worldWant, worldWant.GetNode(), err, want, world.ResourceNames)
		if short, ok := decodeAck(b, false); ok && !reflect.DeepEqual(short, deltaRequest(&delta)) {
			t.Fatalf("got %v, want %v", short, &delta)
		}
		if short, ok := decodeAck(b, true); ok && !reflect.DeepEqual(short, sotwRequest(&world)) {
			t.Fatalf("got %v, want %v", short, &world)
		}
	})
}

// checkDecoded: only an invalid extension or a name that is not UTF-8 may fail in the protobuf library alone; names
// are checked later.
func checkDecoded(t *testing.T, got, want proto.Message, node *corev3.Node, err, wantErr error, names []string) {
	t.Helper()
	if wantErr != nil {
		return
	}
	if err != nil {
		t.Fatalf("got error %v", err)
	}
	for _, name := range names {
		if !utf8.ValidString(name) {
			t.Fatalf("the protobuf library accepts %q", name)
		}
	}
	if node != nil {
		node.Extensions = nil
	}
	if !proto.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}
