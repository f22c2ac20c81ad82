package xds

import (
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func largeResponsesAreSplit(t *testing.T) {
	var all []*Resource
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		all = append(all, text(ClusterType, n, strings.Repeat(n, 1000)))
	}
	b := newBench(t, all...)
	b.opts.MaxResponseSize = 2500
	b.request(ClusterType, nil)
	b.want("two per response", b.drain(), "cluster +a +b; cluster +c +d; cluster +e")
	b = newBench(t, all...)
	b.opts.MaxResponseSize = 10
	b.subscribe(ClusterType, "c")
	b.want("a single resource is never split", b.drain(), "cluster +c")
}

func TestRequestLimits(t *testing.T) {
	many := make([]string, 11)
	versions := map[string]string{}
	for i := range many {
		many[i] = strings.Repeat("n", i+1)
		versions[many[i]] = "1"
	}
	for name, c := range map[string]struct {
		req  *discoveryv3.DeltaDiscoveryRequest
		want codes.Code
	}{
		"no type":       {&discoveryv3.DeltaDiscoveryRequest{}, codes.InvalidArgument},
		"long type":     {&discoveryv3.DeltaDiscoveryRequest{TypeUrl: strings.Repeat("t", 65)}, codes.InvalidArgument},
		"other node":    {&discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, Node: &corev3.Node{Id: "red"}}, codes.InvalidArgument},
		"same node":     {&discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, Node: &corev3.Node{Id: "blue"}}, codes.OK},
		"many names":    {&discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, ResourceNamesSubscribe: many}, codes.ResourceExhausted},
		"many versions": {&discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, InitialResourceVersions: versions}, codes.ResourceExhausted},
		"as many again": {&discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, ResourceNamesSubscribe: many[:10]}, codes.OK},
		"long name":     {&discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, ResourceNamesSubscribe: []string{strings.Repeat("n", 65)}}, codes.InvalidArgument},
		"empty name":    {&discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, ResourceNamesUnsubscribe: []string{""}}, codes.InvalidArgument},
		"no UTF-8":      {&discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, InitialResourceVersions: map[string]string{"\xff": "1"}}, codes.InvalidArgument},
		"odd names":     {&discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, ResourceNamesSubscribe: []string{"a|b", "%00", "//"}}, codes.OK},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.opts.MaxNamesPerType, b.opts.MaxNameSize = 10, 64
			_, err := b.handle(deltaRequest(c.req), &b.published, b.now)
			if status.Code(err) != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	t.Run("many types", func(t *testing.T) {
		b := newBench(t)
		b.opts.MaxTypesPerStream = 2
		b.request("a", nil)
		b.request("b", nil)
		b.request("a", nil)
		third := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: "c"}
		if _, err := b.handle(deltaRequest(third), &b.published, b.now); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("a third type: %v", err)
		}
	})
}
