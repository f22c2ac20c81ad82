package xds

import (
	"bytes"
	"maps"
	"reflect"
	"runtime"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"anymesh.dev/anymesh/internal/truncate"
)

// For any bytes that the protobuf library accepts, the used fields equal those of the library.
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
	o := &Options{}
	o.setDefaults()
	f.Fuzz(func(t *testing.T, b []byte) {
		var delta discoveryv3.DeltaDiscoveryRequest
		if proto.Unmarshal(b, &delta) == nil {
			checkDecoded(t, b, false, deltaRequest(&delta), o)
		}
		var sotw discoveryv3.DiscoveryRequest
		if proto.Unmarshal(b, &sotw) == nil {
			checkDecoded(t, b, true, sotwRequest(&sotw), o)
		}
		_, _ = decodeRequest(b, false, o) // never panics
	})
}

// checkDecoded compares with the result of the protobuf library.
func checkDecoded(t *testing.T, b []byte, isSotW bool, want request, o *Options) {
	t.Helper()
	got, err := decodeRequest(b, isSotW, o)
	if err != nil {
		t.Fatalf("got error %v", err)
	}
	if got.node, _, err = decodeNode(b, isSotW); err != nil {
		t.Fatalf("node: got error %v", err)
	}
	if (got.node == nil) != (want.node == nil) || got.node.GetId() != want.node.GetId() ||
		got.node.GetCluster() != want.node.GetCluster() {
		t.Fatalf("got node %v, want %v", got.node, want.node)
	}
	if (got.errorDetail == nil) != (want.errorDetail == nil) || got.errorDetail.GetCode() != want.errorDetail.GetCode() ||
		truncate.Text(got.errorDetail.GetMessage(), maxMessage) != truncate.Text(want.errorDetail.GetMessage(), maxMessage) {
		t.Fatalf("got error detail %v, want %v", got.errorDetail, want.errorDetail)
	}
	versions := func(r request) map[string]string {
		out := map[string]string{}
		for _, v := range r.versions {
			out[v.name] = v.version
		}
		return out
	}
	if !maps.Equal(versions(got), versions(want)) {
		t.Fatalf("got versions %v, want %v", got.versions, want.versions)
	}
	for _, r := range []*request{&got, &want} {
		r.node, r.errorDetail, r.versions = nil, nil, nil
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

// The memory of a decoded request is a small multiple of its length, whatever it contains.
func TestDecodeMemory(t *testing.T) {
	o := &Options{}
	o.setDefaults()
	const size = 1 << 20
	repeated := func(field ...byte) []byte { return bytes.Repeat(field, size/len(field)) }
	nested := func(number protowire.Number, b []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), b)
	}
	for name, b := range map[string][]byte{
		"empty names":            repeated(3<<3|2, 0),
		"names of one byte":      bytes.Repeat([]byte{3<<3 | 2, 1, 'x'}, o.MaxNamesPerType),
		"versions of one byte":   bytes.Repeat([]byte{5<<3 | 2, 3, 1<<3 | 2, 1, 'x'}, o.MaxNamesPerType),
		"empty details":          nested(7, repeated(3<<3|2, 0)),
		"empty node metadata":    nested(1, nested(3, repeated(1<<3|2, 0))),
		"empty locators":         repeated(8<<3|2, 0),
		"a type of 1 MiB":        nested(2, make([]byte, size)),
		"unknown fields":         repeated(15<<3, 1),
		"a client that is large": nested(1, nested(1, make([]byte, size))),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, _ := decodeRequest(b, false, o)
			node, _, _ := decodeNode(b, false)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 6<<20 {
				t.Errorf("decoding %d bytes allocates %d bytes", len(b), n)
			}
			runtime.KeepAlive(r)
			runtime.KeepAlive(node)
		})
	}
}
