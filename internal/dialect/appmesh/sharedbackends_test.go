package appmesh

import (
	"fmt"
	"reflect"
	"testing"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// VirtualNodes share a list of backends if it is equal, and only then.
func TestEqualBackendsAreShared(t *testing.T) {
	node := func(backends int, change func(*api.Backend)) *api.VirtualNode {
		var n api.VirtualNode
		for i := range backends {
			n.Spec.Backends = append(n.Spec.Backends, api.Backend{VirtualService: api.VirtualServiceBackend{
				VirtualServiceRef: &api.VirtualServiceReference{Name: fmt.Sprintf("s%d", i)},
			}})
		}
		if change != nil {
			change(&n.Spec.Backends[backends-1])
		}
		return &n
	}
	for _, c := range []struct {
		name string
		a, b *api.VirtualNode
		want bool
	}{
		{"equal", node(minShared, nil), node(minShared, nil), true},
		{"short", node(minShared-1, nil), node(minShared-1, nil), false},
		{"longer", node(minShared, nil), node(minShared+1, nil), false},
		{"another name", node(minShared, nil), node(minShared, func(b *api.Backend) {
			b.VirtualService.VirtualServiceRef.Name = "other"
		}), false},
		{"client policy", node(minShared, nil), node(minShared, func(b *api.Backend) {
			b.VirtualService.ClientPolicy = &api.ClientPolicy{}
		}), false},
	} {
		for _, transform := range (Dialect{}).Transforms() {
			for _, n := range []*api.VirtualNode{c.a, c.b} {
				before := n.DeepCopy()
				if got, err := transform(n); err != nil || !reflect.DeepEqual(got, before) {
					t.Errorf("%s: the object changed: %v", c.name, err)
				}
			}
		}
		if got := &c.a.Spec.Backends[0] == &c.b.Spec.Backends[0]; got != c.want {
			t.Errorf("%s: shared is %v, want %v", c.name, got, c.want)
		}
	}
}
