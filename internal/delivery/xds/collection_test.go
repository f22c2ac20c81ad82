package xds

import (
	"fmt"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

func scope(collection, name, version string) *Resource {
	return text(ScopeType, "xdstp://anymesh/type/"+collection+"/"+name, version)
}

// A subscription to a collection receives the resources with its prefix, and no others (xDS transport, "Glob").
func collections(t *testing.T) {
	const a, b = "xdstp://anymesh/type/a", "xdstp://anymesh/type/b"
	c := newBench(t, scope("a", "x", "1"), scope("a", "y", "1"), scope("b", "x", "1"), text(ScopeType, "plain", "1"))
	c.subscribe(ScopeType, a+"/*")
	c.want("resources of the collection", c.drain(), fmt.Sprintf("scope +%s/x +%s/y", a, a))
	c.publish(scope("a", "x", "2"), scope("a", "z", "1"), scope("b", "x", "2"))
	c.want("changed, added and removed ones", c.drain(), fmt.Sprintf("scope +%s/x +%s/z -%s/y", a, a, a))
	c.subscribe(ScopeType, b+"/*")
	c.want("another collection", c.drain(), fmt.Sprintf("scope +%s/x", b))
	c.subscribe(ScopeType, "xdstp://anymesh/type/none/*")
	c.want("an empty collection gets a response", c.drain(), "scope")
	c.unsubscribe(ScopeType, a+"/*")
	c.publish(scope("a", "x", "3"), scope("b", "x", "3"))
	c.want("one collection is left", c.drain(), fmt.Sprintf("scope +%s/x", b))
}

func collectionsAfterReconnect(t *testing.T) {
	const a = "xdstp://anymesh/type/a"
	old := []*Resource{scope("a", "x", "1"), scope("a", "y", "1"), scope("a", "gone", "1")}
	c := newBench(t, old[0], scope("a", "y", "2"), scope("b", "x", "1"))
	c.request(ScopeType, func(r *discoveryv3.DeltaDiscoveryRequest) {
		r.ResourceNamesSubscribe = []string{a + "/*"}
		r.InitialResourceVersions = map[string]string{}
		for _, one := range old {
			r.InitialResourceVersions[one.Name] = one.Version
		}
	})
	c.want("differences", c.drain(), fmt.Sprintf("scope +%s/y -%s/gone", a, a))
}
