package xds

import (
	"encoding/binary"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

// For any requests of a state-of-the-world client, the session does not panic and stops sending. A response has no
// duplicate name. A response of clusters or listeners holds all resources of the subscription.
func FuzzSotwRequests(f *testing.F) {
	seed := func(requests ...*discoveryv3.DiscoveryRequest) {
		var all []byte
		for _, r := range requests {
			b, err := proto.Marshal(r)
			if err != nil {
				f.Fatal(err)
			}
			all = binary.BigEndian.AppendUint16(all, uint16(len(b)))
			all = append(all, b...)
		}
		f.Add(all)
	}
	seed(&discoveryv3.DiscoveryRequest{TypeUrl: ClusterType},
		&discoveryv3.DiscoveryRequest{TypeUrl: ClusterType, ResponseNonce: "1"},
		&discoveryv3.DiscoveryRequest{TypeUrl: ClusterType, ResourceNames: []string{"*", "a"}},
		&discoveryv3.DiscoveryRequest{TypeUrl: ClusterType, ResponseNonce: "2"})
	seed(&discoveryv3.DiscoveryRequest{TypeUrl: EndpointType, ResourceNames: []string{"a", "x", "a"}},
		&discoveryv3.DiscoveryRequest{TypeUrl: EndpointType, ResponseNonce: "0"})
	seed(&discoveryv3.DiscoveryRequest{TypeUrl: ListenerType, ResourceNames: []string{"a"}},
		&discoveryv3.DiscoveryRequest{TypeUrl: ListenerType, ResponseNonce: "1"})

	f.Fuzz(func(t *testing.T, all []byte) {
		opts := &Options{MaxNamesPerType: 50, MaxTypesPerStream: 4}
		opts.setDefaults()
		s := newSession(opts, nil, true)
		published := newState()
		now := time.Unix(1e9, 0)
		toggle := false
		for len(all) >= 2 {
			size := min(int(binary.BigEndian.Uint16(all)), len(all)-2)
			req := &discoveryv3.DiscoveryRequest{}
			if err := proto.Unmarshal(all[2:2+size], req); err != nil {
				break
			}
			all, req.Node = all[2+size:], nil
			if _, err := s.handle(sotwRequest(req), &published, now); err != nil {
				break
			}
			var resources []*Resource
			if toggle = !toggle; toggle {
				for _, ty := range []string{ClusterType, EndpointType, ListenerType, RouteType, req.GetTypeUrl()} {
					resources = append(resources, text(ty, "a", "1"), text(ty, "b", "1"))
				}
				resources = dedup(resources)
			}
			for _, c := range published.replace(snapshot(t, resources...), []*session{s}) {
				s.markChanged(c, now)
			}
			for sent := 0; ; sent++ {
				now = now.Add(opts.AckTimeout) // no ACK arrives
				r, _ := s.nextResponse(now)
				if r == nil {
					break
				}
				if got := sotwWire(t, r); got.GetTypeUrl() != r.typeURL || got.GetNonce() == "" ||
					len(got.GetResources()) != len(r.sentResources()) {
					t.Fatalf("response %v", got)
				}
				checkFullState(t, s.subscription(r.typeURL).subscription, r)
				if sent > 2*opts.MaxTypesPerStream {
					t.Fatal("the session does not stop sending")
				}
			}
		}
		s.close(&published)
		for typeURL, table := range published.tables {
			if table.subscribers != 0 {
				t.Errorf("%q has %d subscribers after close", typeURL, table.subscribers)
			}
		}
	})
}

func checkFullState(t *testing.T, s *subscription, r *response) {
	t.Helper()
	there := map[string]bool{}
	for _, one := range r.sentResources() {
		if there[one.Name] {
			t.Fatalf("%q is in the response twice", one.Name)
		}
		there[one.Name] = true
	}
	if !s.fullState() {
		return
	}
	for n := range s.table.numbers() {
		one := s.table.resource(n)
		if one != nil && (s.wildcard || s.entry(n)&entryNamed != 0) && !there[one.Name] {
			t.Fatalf("%q is missing", one.Name)
		}
	}
}
