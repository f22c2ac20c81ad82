package xds

import (
	"maps"
	"slices"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
)

// The ACK of one resource does not clear the NACK of another.
func nackSurvivesOtherAcks(t *testing.T) {
	b := newBench(t, text(ClusterType, "bad", "1"))
	b.request(ClusterType, nil)
	answer := func(message string) []string {
		t.Helper()
		r := b.send()
		if r == nil {
			t.Fatal("no response")
		}
		return slices.Sorted(maps.Keys(b.request(ClusterType, func(q *discoveryv3.DeltaDiscoveryRequest) {
			q.ResponseNonce = r.GetNonce()
			if message != "" {
				q.ErrorDetail = &statuspb.Status{Message: message}
			}
		}).rejected))
	}
	if got := answer("no"); !slices.Equal(got, []string{"bad"}) {
		t.Errorf("got rejected %q", got)
	}
	b.publish(text(ClusterType, "bad", "1"), text(ClusterType, "other", "1"))
	if got := answer(""); !slices.Equal(got, []string{"bad"}) {
		t.Errorf("after the ACK of another resource: got rejected %q", got)
	}
	if got := b.subs[0].status().Rejected; !slices.Equal(got, []string{"bad"}) {
		t.Errorf("the status has the rejected resources %q", got)
	}
	b.publish(text(ClusterType, "bad", "2"), text(ClusterType, "other", "1"))
	if got := answer(""); len(got) != 0 {
		t.Errorf("after the ACK: got rejected %q", got)
	}
}
