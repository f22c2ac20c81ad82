package xds

import (
	"encoding/binary"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

// For any requests, the session does not panic and stops sending, and every response is well-formed and has the type
// that it names.
func FuzzDeltaRequests(f *testing.F) {
	seed := func(requests ...*discoveryv3.DeltaDiscoveryRequest) {
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
	seed(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, Node: &corev3.Node{Id: "blue"}},
		&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, ResponseNonce: "1"})
	seed(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: EndpointType, ResourceNamesSubscribe: []string{"*", "a", "x"}},
		&discoveryv3.DeltaDiscoveryRequest{TypeUrl: EndpointType, ResourceNamesUnsubscribe: []string{"a", "*"},
			ResponseNonce: "9"})
	seed(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, ResourceNamesSubscribe: []string{"a"},
		InitialResourceVersions: map[string]string{"a": "1", "z": "2"}})
	seed(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ScopeType, ResourceNamesSubscribe: []string{"xdstp://x/*", "a"}},
		&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ScopeType, ResourceNamesUnsubscribe: []string{"xdstp://x/*"}})

	f.Fuzz(func(t *testing.T, all []byte) {
		opts := &Options{MaxNamesPerType: 50, MaxTypesPerStream: 4}
		opts.setDefaults()
		s := newSession(opts, &corev3.Node{Id: "blue"}, false)
		published := newState()
		now := time.Unix(1e9, 0)
		toggle := false
		for len(all) >= 2 {
			size := min(int(binary.BigEndian.Uint16(all)), len(all)-2)
			req := &discoveryv3.DeltaDiscoveryRequest{}
			if err := proto.Unmarshal(all[2:2+size], req); err != nil {
				return
			}
			all = all[2+size:]
			if _, err := s.handle(deltaRequest(req), &published, now); err != nil {
				return
			}
			var resources []*Resource
			if toggle = !toggle; toggle {
				for _, ty := range []string{ClusterType, EndpointType, ListenerType, RouteType, req.GetTypeUrl()} {
					resources = append(resources, text(ty, "a", "1"), text(ty, "xdstp://x/b", "1"))
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
				if got := wire(t, r); got.GetTypeUrl() != r.typeURL || got.GetNonce() == "" ||
					len(got.GetResources()) != len(r.changed) {
					t.Fatalf("response %v", got)
				}
				if sent > 2*opts.MaxTypesPerStream {
					t.Fatal("the session does not stop sending")
				}
			}
		}
	})
}

func dedup(all []*Resource) []*Resource {
	seen := map[Ref]bool{}
	var out []*Resource
	for _, r := range all {
		if ref := (Ref{r.TypeURL, r.Name}); !seen[ref] {
			seen[ref] = true
			out = append(out, r)
		}
	}
	return out
}
