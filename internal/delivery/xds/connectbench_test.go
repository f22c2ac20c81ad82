package xds

import (
	"fmt"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

// connectServices is the number of services of BenchmarkConnect. Their resources do not fit into the caches of a core.
const connectServices = 10_000

// BenchmarkConnect measures the session of a client that connects and receives the resources of all services, without
// I/O: decoding of its requests, responses as they are copied into TLS records, and ACKs.
func BenchmarkConnect(b *testing.B) {
	published := connectState(b)
	opts := &Options{}
	opts.setDefaults()
	requests := connectRequests(b)
	b.ReportAllocs()
	for b.Loop() {
		s := newSession(opts, &corev3.Node{Id: "blue"}, false)
		got := 0
		for _, request := range requests {
			got += connectRequest(b, s, &published, request)
		}
		if got != 4*connectServices {
			b.Fatalf("received %d resources", got)
		}
		s.close(&published)
	}
}

// connectRequest handles a request, and acknowledges the responses. It returns the number of their resources.
func connectRequest(b *testing.B, s *session, published *state, request []byte) (resources int) {
	b.Helper()
	now := time.Unix(1e9, 0)
	handle := func(message []byte) {
		r, err := decodeRequest(message, false, s.opts)
		if err == nil {
			_, err = s.handle(r, published, now)
		}
		if err != nil {
			b.Fatal(err)
		}
		r.release()
	}
	handle(request)
	for record := make([]byte, 16<<10); ; {
		out, _ := s.nextResponse(now)
		if out == nil {
			return resources
		}
		parts, _ := out.encode()
		for _, part := range parts {
			copy(record, part)
		}
		resources += len(out.changed)
		ack := appendString(nil, deltaFields.typeURL, out.typeURL)
		ack = appendString(ack, deltaFields.nonce, out.nonce)
		out.release()
		handle(ack)
	}
}

// connectState returns resources of the sizes that a mesh has, which keys share.
func connectState(b *testing.B) state {
	b.Helper()
	var all []*Resource
	for i := range connectServices {
		cluster, route, scope := connectNames(i)
		for _, r := range []struct {
			typeURL, name string
			size          int
		}{{ClusterType, cluster, 110}, {EndpointType, cluster, 120}, {RouteType, route, 470}, {ScopeType, scope, 180}} {
			one, err := EncodedResource(r.typeURL, r.name, make([]byte, r.size))
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, one)
		}
	}
	shared, err := NewShared(all...)
	if err != nil {
		b.Fatal(err)
	}
	snapshot, err := shared.With()
	if err != nil {
		b.Fatal(err)
	}
	p := newState()
	p.replace(snapshot, nil)
	return p
}

func connectNames(i int) (cluster, route, scope string) {
	host := fmt.Sprintf("service-%05d.bench", i)
	return fmt.Sprintf("cds_egress_bench_service-%05d_bench_http_8080", i), "rds_egress_http_8080/" + host,
		connectScopes + host
}

const connectScopes = "xdstp://anymesh/envoy.config.route.v3.ScopedRouteConfiguration/rds_egress_http_8080/"

// connectRequests are the first requests of Envoy.
func connectRequests(b *testing.B) (messages [][]byte) {
	b.Helper()
	var clusters, routes []string
	for i := range connectServices {
		cluster, route, _ := connectNames(i)
		clusters, routes = append(clusters, cluster), append(routes, route)
	}
	for _, r := range []*discoveryv3.DeltaDiscoveryRequest{
		{TypeUrl: ClusterType}, {TypeUrl: EndpointType, ResourceNamesSubscribe: clusters},
		{TypeUrl: ScopeType, ResourceNamesSubscribe: []string{connectScopes + "*"}},
		{TypeUrl: RouteType, ResourceNamesSubscribe: routes},
	} {
		message, err := proto.Marshal(r)
		if err != nil {
			b.Fatal(err)
		}
		messages = append(messages, message)
	}
	return messages
}
