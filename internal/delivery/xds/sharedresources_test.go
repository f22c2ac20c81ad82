package xds

import (
	"fmt"
	"testing"
	"time"
)

// Names that were removed take no memory once no client has state for them. A client that subscribes to one by name
// gets it when it returns.
func TestNumbersOfRemovedNamesAreFreed(t *testing.T) {
	r := startServer(t, authorizeByCommonName, Options{})
	all := shared(t, text(EndpointType, "named", "1"))
	r.Publish("blue", sharing(t, all), time.Time{})
	c := r.connect(t, "blue")
	c.subscribe(ClusterType)
	c.subscribe(EndpointType, "named")
	eventually(t, "the endpoints", func() bool { return len(c.has(EndpointType)) == 1 })
	put := func(rs ...*Resource) { r.Update(all, &Update{Changed: rs}, time.Time{}) }
	r.Update(all, &Update{Removed: []Ref{{EndpointType, "named"}}}, time.Time{})
	for i := range 20 * minPlaceholders {
		cluster, endpoints := text(ClusterType, fmt.Sprint("c", i), "1"), text(EndpointType, fmt.Sprint("c", i), "1")
		put(cluster, endpoints)
		if i%50 == 0 {
			eventually(t, "a cluster", func() bool { return len(c.has(ClusterType)) == 1 })
		}
		r.Update(all, &Update{Removed: []Ref{{ClusterType, cluster.Name}, {EndpointType, cluster.Name}}}, time.Time{})
		if i%50 == 0 {
			eventually(t, "no cluster", func() bool { return len(c.has(ClusterType)) == 0 })
		}
	}
	for _, typeURL := range []string{ClusterType, EndpointType} {
		if n := len(all.parts[typeURL].slots); n > 8*minPlaceholders {
			t.Errorf("%s has %d numbers, although all but one name are unused", typeLabel(typeURL), n)
		}
	}
	put(text(EndpointType, "named", "2"), text(ClusterType, "last", "1"))
	eventually(t, "what is published", func() bool {
		return len(c.has(EndpointType)) == 1 && len(c.has(ClusterType)) == 1
	})
}

// A key that changes to other shared resources receives only differences, also of names that it subscribed to while
// they were its own.
func TestKeyChangesSharedResources(t *testing.T) {
	b := newBench(t, text(EndpointType, "a", "1"), text(EndpointType, "b", "1"), text(EndpointType, "c", "1"))
	b.subscribe(EndpointType, "a", "b", "c", "d")
	b.want("own", b.drain(), "endpoint +a +b +c -d")
	b.shares, b.anew = func(*Resource) bool { return true }, func() bool { return true }
	b.publish(text(EndpointType, "a", "1"), text(EndpointType, "b", "2"), text(EndpointType, "c", "1"))
	b.want("the same are shared, but for b", b.drain(), "endpoint +b")
	b.publish(text(EndpointType, "c", "1"), text(EndpointType, "d", "1"), text(EndpointType, "a", "1"))
	b.want("others are shared", b.drain(), "endpoint +d; endpoint -b")
	if n := len(b.published.tables[EndpointType].own.slots); n > 8 {
		t.Errorf("the key has %d numbers of its own", n)
	}
}
