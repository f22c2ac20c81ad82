package xds

import (
	"fmt"
	"slices"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
)

// The list of a large response stays until both the send has ended and the client has answered, in any order.
func TestListOfSentResourcesStaysInUse(t *testing.T) {
	var all []*Resource
	for i := range 2 * minReused {
		all = append(all, text(ClusterType, fmt.Sprint("c", i), "1"))
	}
	answer := func(c *bench, nonce string, rejects *statuspb.Status) {
		c.request(ClusterType, func(r *discoveryv3.DeltaDiscoveryRequest) {
			r.ResponseNonce, r.ErrorDetail = nonce, rejects
		})
	}
	t.Run("a small response holds no large list", func(t *testing.T) {
		for range 20 { // the pool may drop some
			resourceLists.put(make([]*Resource, 0, maxReused))
			c := newBench(t, all...)
			c.subscribe(ClusterType)
			out, _ := c.nextResponse(c.now)
			if got, most := cap(out.changed), maxCapacity*len(all); got > most {
				t.Fatalf("a response without ACK holds a list for %d resources, want at most %d", got, most)
			}
		}
	})
	t.Run("ACK before the end of the send", func(t *testing.T) {
		c := newBench(t, all...)
		c.subscribe(ClusterType)
		out, _ := c.nextResponse(c.now)
		list := out.list
		answer(c, out.nonce, nil)
		if slices.Contains(out.sentResources(), nil) || list.users.Load() != 1 {
			t.Errorf("the list has %d users, and is not that which is sent", list.users.Load())
		}
		if out.release(); list.users.Load() != 0 {
			t.Errorf("the list has %d users after the send", list.users.Load())
		}
	})
	t.Run("NACK after the end of the send", func(t *testing.T) {
		c := newBench(t, all...)
		c.subscribe(ClusterType)
		out, _ := c.nextResponse(c.now)
		list, nonce := out.list, out.nonce
		out.release()
		answer(c, nonce, &statuspb.Status{Message: "no"})
		if got := c.session.subscription(ClusterType).lastNack.Names; len(got) != len(all) {
			t.Errorf("%d resources are rejected, want %d", len(got), len(all))
		}
		if list.users.Load() != 0 {
			t.Errorf("the list has %d users after the NACK", list.users.Load())
		}
	})
}
